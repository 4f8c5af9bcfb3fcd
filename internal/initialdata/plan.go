// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package initialdata decides the one next step for the keys that a new cluster begins with: when they are read from their ConfigMap or
// Secret, and when they are written into etcd, once. The same View always gives the same Step.
//
// It must never hold a client, nor put into a message what is in an entry of a ConfigMap or Secret.
package initialdata

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// View is one observation of a cluster and of what it begins with.
type View struct {
	Cluster *v1beta1.EtcdCluster
	Paused  string  // why nothing is to be changed; empty if it may be
	Source  *Source // nil: it was not read
}

var rule = rules.New[View, Step]

// The rules are asked in order: write nothing twice and nothing over data that was there before, wait for the cluster, and read the source
// only when its keys could be written.
var policy = rules.Of(
	rule("write once", writeOnce, "does nothing once the keys were written, nor for an EtcdCluster that is being deleted"),
	rule("need an import", needImport, "removes the condition Imported when spec.bootstrap names nothing any more"),
	rule("leave data alone", leaveData, "writes nothing into a cluster that began with data that was there before, or with a backup"),
	rule("wait for the cluster", awaitCluster, "waits for the end of a pause or a restore, and until the cluster has formed and is available"),
	rule("read the source", readSource, "reads the ConfigMap or Secret, and the EtcdCluster as it is now"),
	rule("need the source", needSource, "waits for a ConfigMap or Secret that does not exist"),
	rule("refuse the source", refuseSource, "writes nothing from a Secret that Kubernetes or the operator has made for a purpose of its own"),
	rule("refuse invalid entries", refuseInvalid, "writes no key at all while one entry means no key"),
	rule("write the keys", writeKeys, "writes the keys that etcd does not have, and leaves those that it has as they are"),
)

// Next is the one step to take now, and the name of the rule that chose it.
func Next(v View) (Step, string) { return policy.Next(v) }

func writeOnce(v View) Step {
	if c := v.Cluster; c.HasImported() || c.DeletionTimestamp != nil {
		return Done{}
	}
	return nil
}

func needImport(v View) Step {
	switch c := v.Cluster; {
	case c.WantsImport():
		return nil
	case meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionImported) != nil:
		return RemoveCondition{}
	}
	return Done{}
}

func leaveData(v View) Step {
	if !beganWithData(v.Cluster) {
		return nil
	}
	return report(v1beta1.ReasonDataPresent, "nothing is imported: the cluster began with data that was there before, or has that of a "+
		"backup; write the keys yourself, or remove spec.bootstrap")
}

// beganWithData says whether the cluster did not begin empty: its volumes were there before, or were filled by a restore, or it
// is of a release that wrote down no plan.
func beganWithData(c *v1beta1.EtcdCluster) bool {
	b := c.Status.Bootstrap
	return b == nil && c.Status.ClusterID != "" || b != nil && (b.Adopted || b.Restore != "")
}

// awaitCluster waits for what has to be true before anything is written.
func awaitCluster(v View) Step {
	c, cause := v.Cluster, ""
	switch {
	case v.Paused != "":
		cause = "the pause: " + v.Paused
	case c.Status.ClusterID == "":
		cause = "the cluster has formed"
	case c.IsRestoring():
		cause = "the restore, if that is cancelled"
	case !meta.IsStatusConditionTrue(c.Status.Conditions, v1beta1.ConditionAvailable):
		cause = "the cluster is available"
	default:
		return nil
	}
	return report(v1beta1.ReasonWaitingForCluster, "%s is imported after %s", Name(c), cause)
}

func readSource(v View) Step {
	if v.Source != nil {
		return nil
	}
	return ReadSource{Name(v.Cluster)}
}

func needSource(v View) Step {
	if v.Source.Exists {
		return nil
	}
	return retry(v1beta1.ReasonSourceMissing,
		"%s does not exist: create it; the cluster serves meanwhile, without these keys", Name(v.Cluster))
}

func refuseSource(v View) Step {
	if v.Source.Refused == "" {
		return nil
	}
	return retry(v1beta1.ReasonSourceRefused, "nothing is imported from %s: %s", Name(v.Cluster), v.Source.Refused)
}

func refuseInvalid(v View) Step {
	_, err := keys(v)
	if err == nil {
		return nil
	}
	return retry(v1beta1.ReasonEntryInvalid, "nothing is imported from %s: %s; correct it", Name(v.Cluster), err)
}

func writeKeys(v View) Step {
	all, _ := keys(v) // the rule before has found them valid
	return WriteKeys{Keys: all, From: Name(v.Cluster)}
}

func keys(v View) ([]etcd.KeyValue, error) {
	return Parse(v.Cluster.Spec.Bootstrap.Import.Prefix, v.Source.Entries)
}
