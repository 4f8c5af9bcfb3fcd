// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package initialdata_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/initialdata"
)

// TestScripts runs the scripts in testdata. "new" begins one, with a new EtcdCluster a that serves and is to begin with the ConfigMap
// settings, whose keys get the prefix /p/. The other commands change something: "cluster" the cluster, "source" the ConfigMap or
// Secret, "etcd" the keys that etcd has. Each prints what is done until nothing is left to do.
//
// If it fails, run with -rewrite and read the diff before you commit it.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				w = &world{cluster: formed(), etcd: map[string]string{}}
			}
			w.T = t
			for _, arg := range d.CmdArgs {
				w.change(d, arg.Key, strings.Join(arg.Vals, ","))
			}
			return w.settles()
		})
	})
}

// A world is a cluster and what it begins with. It fails its test where a step does what none may.
type world struct {
	*testing.T
	cluster *v1beta1.EtcdCluster
	paused  string
	source  initialdata.Source // that there is
	etcd    map[string]string
	written bool
}

func (w *world) change(d *datadriven.TestData, key, value string) {
	switch d.Cmd {
	case "new", "cluster":
		w.changeCluster(key)
	case "source":
		w.changeSource(key, value)
	case "etcd":
		w.etcd[key] = value
	default:
		w.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
}

func (w *world) changeCluster(word string) {
	c := w.cluster
	switch word {
	case "secret":
		c.Spec.Bootstrap.Import = &v1beta1.Import{SecretRef: &v1beta1.ImportReference{Name: "keys"}}
	case "without-import":
		c.Spec.Bootstrap = nil
	case "deleted":
		c.DeletionTimestamp = &metav1.Time{}
	case "forming":
		c.Status.ClusterID = ""
	case "formed":
		c.Status.ClusterID = "c1"
	case "unavailable":
		condition(c, v1beta1.ConditionAvailable, metav1.ConditionUnknown)
	case "available":
		condition(c, v1beta1.ConditionAvailable, metav1.ConditionTrue)
	case "paused":
		w.paused = "spec.paused is true"
	case "unpaused":
		w.paused = ""
	case "restoring":
		c.Status.Restore = &v1beta1.RestoreStatus{Request: "r", RequestUID: "u"}
	case "cancelled": // the restore, before it had replaced a member
		c.Status.Restore = nil
	case "restored":
		c.Status.Restore, c.Status.Bootstrap.Restore = nil, "u"
	case "adopted": // its volumes, with their data
		c.Status.Bootstrap.Adopted = true
	case "adopted-empty": // the volumes of a cluster of the same name that had never formed
		c.Status.Bootstrap.Token = "u0"
	case "not-planned":
		c.Status.Bootstrap = nil
	case "record-lost": // by an operator of an earlier release, which keeps the condition
		c.Status.Import = nil
	default:
		w.Fatalf("unknown word %q of a cluster", word)
	}
}

func (w *world) changeSource(key, value string) {
	switch key {
	case "missing":
		w.source = initialdata.Source{}
	case "refused":
		w.source = initialdata.Source{Exists: true, Refused: value}
	default:
		w.source.Exists, w.source.Refused = true, ""
		if w.source.Entries == nil {
			w.source.Entries = map[string][]byte{}
		}
		w.source.Entries[key] = []byte(value)
	}
}

// settles obeys until nothing is left to do, and prints what is done.
func (w *world) settles() string {
	var out strings.Builder
	view := initialdata.View{Cluster: w.cluster, Paused: w.paused}
	for range 10 {
		step, rule := initialdata.Next(view)
		fmt.Fprintf(&out, "%s (%s)\n", step, rule)
		switch s := step.(type) {
		case initialdata.ReadSource:
			source := w.source
			view.Source = &source
			continue
		case initialdata.WriteKeys:
			fmt.Fprintf(&out, "  %s\n", text(s.Keys))
			w.write(s)
			fmt.Fprintf(&out, "  %s\n", meta.FindStatusCondition(w.cluster.Status.Conditions, v1beta1.ConditionImported).Message)
		case initialdata.RemoveCondition:
			meta.RemoveStatusCondition(&w.cluster.Status.Conditions, v1beta1.ConditionImported)
		case initialdata.SetCondition:
			meta.SetStatusCondition(&w.cluster.Status.Conditions, s.Condition)
			if s.Again {
				out.WriteString("  the source is read again after a pause\n")
			}
			return out.String()
		case initialdata.Done:
			return out.String()
		}
		view.Source = nil
	}
	return out.String() + "never settles\n"
}

// write fails if keys are written twice, or over data that was there before.
func (w *world) write(s initialdata.WriteKeys) {
	c := w.cluster
	if b := c.Status.Bootstrap; w.written || c.Status.ClusterID == "" || b == nil || b.Adopted || b.Restore != "" {
		w.Errorf("%s, which must not be: %+v", s, c.Status)
	}
	w.written = true
	kept := int32(0)
	for _, k := range s.Keys {
		if _, there := w.etcd[string(k.Key)]; there {
			kept++
			continue
		}
		w.etcd[string(k.Key)] = string(k.Value)
	}
	c.Status.Import = &v1beta1.ImportStatus{Kept: kept}
	meta.SetStatusCondition(&c.Status.Conditions, initialdata.Written(c, int32(len(s.Keys)), kept)) //nolint:gosec // a small number
}
