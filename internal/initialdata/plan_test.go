package initialdata_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/initialdata"
)

// formed is a cluster that has formed empty, serves, and is to begin with the ConfigMap settings.
func formed() *v1alpha1.EtcdCluster {
	c := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: types.UID("u1")}}
	from := v1alpha1.Import{ConfigMapRef: &v1alpha1.ImportReference{Name: "settings"}, Prefix: "/p/"}
	c.Spec.Bootstrap = &v1alpha1.BootstrapSpec{Import: &from}
	c.Status.ClusterID, c.Status.Bootstrap = "c1", &v1alpha1.Bootstrap{Token: "u1", Members: []string{"a-0"}}
	condition(c, v1alpha1.ConditionAvailable, metav1.ConditionTrue)
	return c
}

func condition(c *v1alpha1.EtcdCluster, kind string, status metav1.ConditionStatus) {
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "R"})
}

// TestPlan: what is done with each cluster and each source. "write" is only said of a new cluster that serves.
func TestPlan(t *testing.T) {
	refused := &initialdata.Source{Exists: true, Refused: "no"}
	bad := &initialdata.Source{Exists: true, Entries: entries("import.yaml", "x")}
	lost := func(c *v1alpha1.EtcdCluster) { condition(c, v1alpha1.ConditionImported, metav1.ConditionTrue) }
	const unformed = "ClusterAwaited ConfigMap settings is imported after the cluster has formed"
	good := &initialdata.Source{Exists: true, Entries: entries("k", "v")}
	for name, c := range map[string]struct {
		change func(c *v1alpha1.EtcdCluster)
		source *initialdata.Source
		paused string
		want   string
	}{
		"new, and the source was not read": {nil, nil, "", "read"},
		"new":                              {nil, good, "", "write /p/k=v"},
		"adopted unfinished":               {func(c *v1alpha1.EtcdCluster) { c.Status.Bootstrap.Token = "u0" }, good, "", "write /p/k=v"},
		"adopted with its data": {
			func(c *v1alpha1.EtcdCluster) { c.Status.Bootstrap.Adopted = true }, good, "", "DataPresent nothing is imported",
		},
		"adopted, not formed yet": {func(c *v1alpha1.EtcdCluster) {
			c.Status.Bootstrap.Adopted, c.Status.ClusterID = true, ""
		}, good, "", "DataPresent nothing is imported"},
		"restored in place before": {
			func(c *v1alpha1.EtcdCluster) { c.Status.Bootstrap.Restore = "r" }, good, "", "DataPresent nothing is imported",
		},
		"of an earlier release": {func(c *v1alpha1.EtcdCluster) { c.Status.Bootstrap = nil }, good, "", "DataPresent nothing is imported"},
		"not begun": {func(c *v1alpha1.EtcdCluster) {
			c.Status.Bootstrap, c.Status.ClusterID = nil, ""
		}, good, "", unformed},
		"not formed": {
			func(c *v1alpha1.EtcdCluster) { c.Status.ClusterID = "" }, good, "", unformed,
		},
		"not available": {func(c *v1alpha1.EtcdCluster) {
			condition(c, v1alpha1.ConditionAvailable, metav1.ConditionUnknown)
		}, good, "", "ClusterAwaited ConfigMap settings is imported after the cluster is available"},
		"paused": {nil, good, "spec.paused is true", "ClusterAwaited ConfigMap settings is imported after the pause: spec.paused is true"},
		"being restored in place": {func(c *v1alpha1.EtcdCluster) {
			c.Status.Restore = &v1alpha1.RestoreStatus{Request: "r", RequestUID: "u"}
		}, good, "", "ClusterAwaited ConfigMap settings is imported after the restore"},
		"no source":        {nil, &initialdata.Source{}, "", "again SourceMissing ConfigMap settings does not exist: create it"},
		"refused source":   {nil, refused, "", "again SourceRefused nothing is imported from ConfigMap settings: no"},
		"bad entry":        {nil, bad, "", `again EntryInvalid nothing is imported from ConfigMap settings: entry "import.yaml"`},
		"of a Secret":      {ofSecret, &initialdata.Source{}, "", "again SourceMissing Secret keys does not exist"},
		"imported":         {func(c *v1alpha1.EtcdCluster) { c.Status.Import = &v1alpha1.ImportStatus{} }, good, "", "nothing"},
		"record was lost":  {lost, good, "", "nothing"},
		"being deleted":    {func(c *v1alpha1.EtcdCluster) { c.DeletionTimestamp = &metav1.Time{} }, good, "", "nothing"},
		"nothing is asked": {func(c *v1alpha1.EtcdCluster) { c.Spec.Bootstrap = nil }, good, "", "nothing"},
		"asked no more": {func(c *v1alpha1.EtcdCluster) {
			c.Spec.Bootstrap = nil
			condition(c, v1alpha1.ConditionImported, metav1.ConditionFalse)
		}, good, "", "forget"},
	} {
		cluster := formed()
		if c.change != nil {
			c.change(cluster)
		}
		work := initialdata.Plan(initialdata.View{Cluster: cluster, Paused: c.paused, Source: c.source})
		if got := told(work); !strings.HasPrefix(got, c.want) || c.want == "nothing" && got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func ofSecret(c *v1alpha1.EtcdCluster) {
	c.Spec.Bootstrap.Import = &v1alpha1.Import{SecretRef: &v1alpha1.ImportReference{Name: "keys"}}
}

func told(w initialdata.Work) string {
	switch {
	case w.Read:
		return "read"
	case w.Forget:
		return "forget"
	case len(w.Write) > 0:
		return "write " + text(w.Write)
	case w.Say == nil:
		return "nothing"
	}
	said := w.Say.Reason + " " + w.Say.Message
	if w.Say.Type != v1alpha1.ConditionImported || w.Say.Status != metav1.ConditionFalse {
		said = "wrong " + said
	}
	if w.Again {
		said = "again " + said
	}
	return said
}

// TestSources: all entries of a ConfigMap, and those of a Secret that people have made for themselves.
func TestSources(t *testing.T) {
	got := initialdata.OfConfigMap(&corev1.ConfigMap{Data: map[string]string{"a": "1"}, BinaryData: map[string][]byte{"b": {2}}})
	if !got.Exists || string(got.Entries["a"]) != "1" || got.Entries["b"][0] != 2 || len(got.Entries) != 2 {
		t.Errorf("a ConfigMap: %+v", got)
	}
	for kind, taken := range map[corev1.SecretType]bool{
		"": true, corev1.SecretTypeOpaque: true, corev1.SecretTypeTLS: false, corev1.SecretTypeServiceAccountToken: false, "x.example/y": false,
	} {
		got := initialdata.OfSecret(&corev1.Secret{Type: kind, Data: entries("a", "1")})
		if !got.Exists || (got.Refused == "") != taken || (len(got.Entries) == 1) != taken {
			t.Errorf("a Secret of type %q: %+v", kind, got)
		}
	}
	ours := &corev1.Secret{Data: entries("ca.crt", "1")}
	ours.Labels = map[string]string{specs.ManagedByLabel: v1alpha1.FieldOwner}
	if got := initialdata.OfSecret(ours); got.Refused == "" || len(got.Entries) > 0 {
		t.Errorf("a Secret of the operator: %+v", got)
	}
}

// TestWhatIsSaid: when all keys are there, and after an error.
func TestWhatIsSaid(t *testing.T) {
	c := formed()
	for want, got := range map[string]metav1.Condition{
		"the key of ConfigMap settings is in etcd":                                             initialdata.Done(c, 1, 0),
		"12 keys of ConfigMap settings are in etcd; 3 were there already and are as they were": initialdata.Done(c, 12, 3),

		"trying again: no space": initialdata.Failed(errors.New("no space")),
	} {
		if isDone := got.Status == metav1.ConditionTrue; got.Message != want || isDone != strings.Contains(want, "etcd") {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}
