package restore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/version"
)

// Choose is the backup that the spec means, or why there is none that can be restored, and what to do.
func Choose(c *v1alpha1.EtcdCluster, all []v1alpha1.EtcdBackup) (chosen *v1alpha1.EtcdBackup, problem string) {
	want := c.Spec.Bootstrap.Restore
	if want.Backup != "" {
		chosen = named(want.Backup, all)
		if chosen == nil {
			return nil, fmt.Sprintf("bootstrap.restore: there is no EtcdBackup %s in this namespace: "+
				"kubectl get etcdbackups lists those that there are", want.Backup)
		}
	} else if chosen = newest(c, all); chosen == nil {
		return nil, fmt.Sprintf("bootstrap.restore: store %s has no backup of cluster %s %s: kubectl get etcdbackups lists those that it has, "+
			"within a minute after the store is created", want.Store, strings.Join(source(c), "/"), at(want))
	}
	return chosen, unfit(c, chosen)
}

func named(name string, all []v1alpha1.EtcdBackup) *v1alpha1.EtcdBackup {
	i := slices.IndexFunc(all, func(b v1alpha1.EtcdBackup) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// source is the namespace and name of the cluster whose backup is meant.
func source(c *v1alpha1.EtcdCluster) []string {
	want := c.Spec.Bootstrap.Restore.Cluster
	if namespace, name, both := strings.Cut(want, "/"); both {
		return []string{namespace, name}
	}
	if want == "" {
		want = c.Name
	}
	return []string{c.Namespace, want}
}

func at(want *v1alpha1.Restore) string {
	if want.At == "" || want.At == "latest" {
		return "that is complete"
	}
	return "that is not newer than " + want.At
}

// newest is the newest backup of the cluster that is meant and not newer than is asked for.
func newest(c *v1alpha1.EtcdCluster, all []v1alpha1.EtcdBackup) *v1alpha1.EtcdBackup {
	want := c.Spec.Bootstrap.Restore
	from := source(c)
	var found *v1alpha1.EtcdBackup
	for i := range all {
		b := &all[i]
		folder := strings.Split(b.Status.Path, "/") // v1/<namespace>/<cluster>/<ID>
		fits := b.Status.Store == want.Store && len(folder) == 4 && slices.Equal(folder[1:3], from)
		if !fits || !isComplete(b) || isNewer(b, want.At) {
			continue
		}
		if found == nil || began(b).After(began(found)) {
			found = b
		}
	}
	return found
}

func began(b *v1alpha1.EtcdBackup) time.Time {
	if b.Status.StartedAt == nil {
		return time.Time{}
	}
	return b.Status.StartedAt.Time
}

func isNewer(b *v1alpha1.EtcdBackup, limit string) bool {
	if revision, err := strconv.ParseInt(limit, 10, 64); err == nil {
		return b.Status.Revision > revision
	}
	if moment, err := time.Parse(time.RFC3339, limit); err == nil {
		return began(b).After(moment)
	}
	return false
}

func isComplete(b *v1alpha1.EtcdBackup) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionComplete)
}

// unfit says why a backup cannot be what the cluster begins with, and what to do; empty if it can.
func unfit(c *v1alpha1.EtcdCluster, b *v1alpha1.EtcdBackup) string {
	verified := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
	want := version.MinorOf(version.Full(c.Spec.Version))
	has := version.MinorOf(b.Status.EtcdVersion)
	switch {
	case !isComplete(b):
		return fmt.Sprintf("bootstrap.restore: EtcdBackup %s is not complete: %s", b.Name, why(b))
	case verified != nil && verified.Status == metav1.ConditionFalse:
		return fmt.Sprintf("bootstrap.restore: EtcdBackup %s has failed its trial: %s; choose another one", b.Name, verified.Message)
	case b.Status.EtcdVersion == "":
		return fmt.Sprintf("bootstrap.restore: it is not known which version of etcd EtcdBackup %s is of", b.Name)
	case version.Order(want+".0", has+".0") < 0:
		return fmt.Sprintf("bootstrap.restore: EtcdBackup %s has data of etcd %s, which etcd %s does not read: create the EtcdCluster with "+
			"spec.version %s, and lower it once it is available", b.Name, has, want, has)
	case b.Status.Encrypted && c.Spec.Bootstrap.Restore.Decryption == nil:
		return fmt.Sprintf("bootstrap.restore: EtcdBackup %s is encrypted: "+
			"name the Secret with the age identities in bootstrap.restore.decryption", b.Name)
	case tooLarge(c, b):
		volume := c.Spec.Storage.VolumeSize()
		return fmt.Sprintf("bootstrap.restore: EtcdBackup %s has a database of %s, which with etcd's log needs more than the volume size of %s: "+
			"create the EtcdCluster with a larger storage.size", b.Name, b.Status.DatabaseSize, &volume)
	}
	return ""
}

// beside the database a member's volume needs room for etcd's log (docs/adr/0029-restores-make-volumes.md), in bytes.
const beside = 150_000_000

func tooLarge(c *v1alpha1.EtcdCluster, b *v1alpha1.EtcdBackup) bool {
	volume := c.Spec.Storage.VolumeSize()
	return b.Status.DatabaseSize != nil && b.Status.DatabaseSize.Value()+beside > volume.Value()
}

func why(b *v1alpha1.EtcdBackup) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete); c != nil {
		return c.Message
	}
	return "it was not looked at yet"
}

// startVersion is what the members start with: what wrote the data. The wanted version follows as in any other upgrade,
// unless it is another patch of the same minor version.
func startVersion(c *v1alpha1.EtcdCluster, wrote string) string {
	wanted := version.Full(c.Spec.Version)
	if version.MinorOf(wanted) == version.MinorOf(wrote) {
		return wanted
	}
	return wrote
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
