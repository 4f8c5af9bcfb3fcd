// Package initialdata says what there is to do about the keys that a new cluster begins with: pure functions from what was read to
// what is written into etcd, once, and to what people are told.
//
// It must never hold a client, nor put into a message what is in an entry of a ConfigMap or Secret.
package initialdata

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// View is one observation of a cluster and of what it begins with.
type View struct {
	Cluster *v1alpha1.EtcdCluster
	Paused  string  // why nothing is to be changed; empty if it may be
	Source  *Source // nil: it was not read
}

// Source is a ConfigMap or Secret.
type Source struct {
	Exists  bool
	Refused string // why it is not imported, whatever is in it
	Entries map[string][]byte
}

// Work is what there is to do.
type Work struct {
	Read  bool            // the source, and the EtcdCluster as it is now: then there is another plan
	Write []etcd.KeyValue // where they are missing; sorted
	// Say is the condition; nil leaves it as it is. After Write it holds once that is done.
	Say    *metav1.Condition
	Forget bool // the condition
	Again  bool // no watch tells when it is otherwise
}

// Plan says what there is to do. The source is read only when its keys could be written.
func Plan(v View) Work {
	c := v.Cluster
	switch {
	case c.HasImported() || c.DeletionTimestamp != nil:
		return Work{}
	case !c.WantsImport():
		return Work{Forget: meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionImported) != nil}
	case beganWithData(c):
		return say(v1alpha1.ReasonDataPresent, "nothing is imported: the cluster began with data that was there before, or has that of a "+
			"backup; write the keys yourself, or remove spec.bootstrap")
	}
	if cause := awaits(v); cause != "" {
		return say(v1alpha1.ReasonClusterAwaited, "%s is imported after %s", Name(c), cause)
	}
	return fromSource(v)
}

// beganWithData says whether the cluster did not begin empty: its volumes were there before, or were filled by a restore, or it
// is of a release that wrote down no plan.
func beganWithData(c *v1alpha1.EtcdCluster) bool {
	b := c.Status.Bootstrap
	return b == nil && c.Status.ClusterID != "" || b != nil && (b.Adopted || b.Restore != "")
}

// awaits is what has to be so before anything is written; empty if all of it is.
func awaits(v View) string {
	c := v.Cluster
	switch {
	case v.Paused != "":
		return "the pause: " + v.Paused
	case c.Status.ClusterID == "":
		return "the cluster has formed"
	case c.IsRestoring():
		return "the restore, if that is cancelled"
	case !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionAvailable):
		return "the cluster is available"
	}
	return ""
}

// fromSource is what is to be done with what the cluster begins with.
func fromSource(v View) Work {
	name := Name(v.Cluster)
	switch s := v.Source; {
	case s == nil:
		return Work{Read: true}
	case !s.Exists:
		return again(v1alpha1.ReasonSourceMissing, "%s does not exist: create it; the cluster serves meanwhile, without these keys", name)
	case s.Refused != "":
		return again(v1alpha1.ReasonSourceRefused, "nothing is imported from %s: %s", name, s.Refused)
	}
	keys, err := Parse(v.Cluster.Spec.Bootstrap.Import.Prefix, v.Source.Entries)
	if err != nil {
		return again(v1alpha1.ReasonEntryInvalid, "nothing is imported from %s: %s; correct it", name, err)
	}
	return Work{Write: keys}
}

// Name is the kind and name of what the cluster begins with.
func Name(c *v1alpha1.EtcdCluster) string {
	if ref := c.Spec.Bootstrap.Import.SecretRef; ref != nil {
		return "Secret " + ref.Name
	}
	return "ConfigMap " + c.Spec.Bootstrap.Import.ConfigMapRef.Name
}

// Done is the condition when all keys are in etcd.
func Done(c *v1alpha1.EtcdCluster, keys, kept int32) metav1.Condition {
	message := fmt.Sprintf("%d keys of %s are in etcd", keys, Name(c))
	if keys == 1 {
		message = "the key of " + Name(c) + " is in etcd"
	}
	if kept > 0 {
		message += fmt.Sprintf("; %d were there already and are as they were", kept)
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionImported, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonKeysWritten, Message: message,
	}
}

// Failed is the condition after an error, until the next try.
func Failed(err error) metav1.Condition {
	return *say(v1alpha1.ReasonImportFailed, "trying again: %s", err).Say
}

func say(reason, format string, arguments ...any) Work {
	return Work{Say: &metav1.Condition{
		Type: v1alpha1.ConditionImported, Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, arguments...),
	}}
}

func again(reason, format string, arguments ...any) Work {
	w := say(reason, format, arguments...)
	w.Again = true
	return w
}

// OfConfigMap is a ConfigMap that exists.
func OfConfigMap(c *corev1.ConfigMap) *Source {
	s := &Source{Exists: true, Entries: map[string][]byte{}}
	for name, text := range c.Data {
		s.Entries[name] = []byte(text)
	}
	for name, content := range c.BinaryData {
		s.Entries[name] = content
	}
	return s
}

// OfSecret is a Secret that exists. Whoever may write EtcdClusters, but not read Secrets, could have a key of an authority or a token
// written where they can read it: what Kubernetes or the operator has made for a purpose of its own is not imported.
func OfSecret(secret *corev1.Secret) *Source {
	switch {
	case secret.Labels[specs.ManagedByLabel] == v1alpha1.FieldOwner:
		return &Source{Exists: true, Refused: "the operator has made it for a cluster; name a Secret of yours"}
	case secret.Type != corev1.SecretTypeOpaque && secret.Type != "":
		return &Source{Exists: true, Refused: fmt.Sprintf("its type is %q, and only Secrets of the type %q are; make one with the keys",
			secret.Type, corev1.SecretTypeOpaque)}
	}
	return &Source{Exists: true, Entries: secret.Data}
}
