// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// world is a namespace, with a fake operator that acts at every look at an object.
type world struct {
	t         *testing.T
	client    client.Client
	unguarded client.Client             // as client, and reads Secrets
	operator  func(client.Object) error // changes what is about to be read
	contexts  map[string]client.Client  // of a kubeconfig; nil: one is enough
	post      Post
	dial      Dial
	reads     bool // Secrets, which no other command does than keys
	logs      func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error)
	typed     string
	width     int // of the bar
	columns   int // of the screen, with so many lines
	lines     int
	out, err  bytes.Buffer
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, operator: func(client.Object) error { return nil }, logs: logs}
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	w.unguarded, w.client = server, interceptor.NewClient(server, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			w.noSecret(o)
			if err := c.Get(ctx, key, o, options...); err != nil {
				return err
			}
			return w.operator(o)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			w.noSecret(list)
			return c.List(ctx, list, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			o.SetUID("u1") // as a real server does
			return c.Create(ctx, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			if slices.Contains(options, client.PatchOption(client.DryRunAll)) { // which the fake one takes for done
				return c.Get(ctx, client.ObjectKeyFromObject(o), o.DeepCopyObject().(client.Object))
			}
			return c.Patch(ctx, o, patch, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			if ctx.Err() != nil {
				return ctx.Err() // as a real server is not asked
			}
			return c.Delete(ctx, o, options...)
		},
	})
	return w
}

func (w *world) noSecret(o runtime.Object) {
	if !w.reads && strings.Contains(fmt.Sprintf("%T", o)+o.GetObjectKind().GroupVersionKind().Kind, "Secret") {
		w.t.Errorf("the plugin reads a Secret: %T", o)
	}
}

// run carries out a command line, and returns how it ends.
func (w *world) run(ctx context.Context, line ...string) int {
	w.t.Helper()
	w.out.Reset()
	w.err.Reset()
	exit := Run(ctx, Environment{
		In: strings.NewReader(w.typed), Out: &w.out, Err: &w.err, Now: func() time.Time { return noon }, Look: time.Millisecond,
		Width: w.columns, Height: w.lines, BarWidth: w.width, CanAsk: w.typed != "", Version: "1.2.3",
		Connect: func(c *Connection) (*Kubernetes, error) {
			namespace := c.overrides.Context.Namespace
			if namespace == "" {
				namespace = "default"
			}
			objects := w.client
			if w.contexts != nil {
				if objects = w.contexts[c.overrides.CurrentContext]; objects == nil {
					return nil, errNoRoute
				}
			}
			return &Kubernetes{Client: objects, Namespace: namespace, Logs: w.logs, Post: w.post, Dial: w.dial}, nil
		},
	}, line)
	w.t.Logf("kubectl etcd %s\nexit %d\n%s%s", strings.Join(line, " "), exit, w.out.String(), w.err.String())
	return exit
}

func logs(_ context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
	if options.LimitBytes == nil || options.TailLines == nil {
		return nil, errors.New("a log without limits")
	}
	return io.NopCloser(strings.NewReader("log of " + namespace + "/" + pod + " token=canary-log password: canary-env-1\n")), nil
}

func store(name string) *v1beta1.EtcdBackupStore {
	return &v1beta1.EtcdBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func cluster(name string, conditions ...metav1.Condition) *v1beta1.EtcdCluster {
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	c.Status.Conditions = conditions
	return c
}

func condition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "message of " + reason}
}

var available = condition(v1beta1.ConditionAvailable, metav1.ConditionTrue, v1beta1.ReasonHealthy)

func wantExit(t *testing.T, is, want int) {
	t.Helper()
	if is != want {
		t.Errorf("exit %d, wanted %d", is, want)
	}
}

func wantText(t *testing.T, text fmt.Stringer, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text.String(), part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

// TestStatusEnds: healthy ends with 0, anything else with 2, and with 1 only what could not be looked at.
func TestStatusEnds(t *testing.T) {
	degraded := condition(v1beta1.ConditionDegraded, metav1.ConditionTrue, v1beta1.ReasonMemberDown)
	lost := condition(v1beta1.ConditionAvailable, metav1.ConditionFalse, v1beta1.ReasonQuorumLost)
	w := newWorld(t, cluster("well", available), cluster("hurt", available, degraded), cluster("lost", lost), cluster("new"))
	for name, want := range map[string]int{"well": Done, "hurt": Unwell, "lost": Unwell, "new": Unwell, "none": Failed} {
		wantExit(t, w.run(t.Context(), "status", name), want)
	}
	wantExit(t, w.run(t.Context(), "status"), Unwell)
	wantText(t, &w.out, "well", "MemberDown", "QuorumLost")
	wantExit(t, w.run(t.Context(), "status", "-n", "empty"), Done)
	wantText(t, &w.err, "there is no EtcdCluster in namespace empty")
	wantExit(t, w.run(t.Context(), "status", "-o", "yaml"), Failed)
}

// TestStatusJSON: scripts get one object for one name, and a list without a name.
func TestStatusJSON(t *testing.T) {
	w := newWorld(t, cluster("a", available), cluster("b", available))
	wantExit(t, w.run(t.Context(), "status", "a", "-o", "json"), Done)
	var one screen.Status
	if err := json.Unmarshal(w.out.Bytes(), &one); err != nil || one.Name != "a" || !one.Healthy {
		t.Error(one, err)
	}
	w.run(t.Context(), "status", "-o", "json")
	var all []screen.Status
	if err := json.Unmarshal(w.out.Bytes(), &all); err != nil || len(all) != 2 {
		t.Error(all, err)
	}
}

// TestStatusWithoutRights: what may not be read is said, and the rest is shown.
func TestStatusWithoutRights(t *testing.T) {
	w := newWorld(t, cluster("a", available), store("s"))
	w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, is := list.(*corev1.PersistentVolumeClaimList); is {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, "", nil)
			}
			return c.List(ctx, list, options...)
		},
	})
	wantExit(t, w.run(t.Context(), "status", "a"), Done)
	wantText(t, &w.out, "volumes could not be read: persistentvolumeclaims is forbidden", "Healthy")
}

// stages has an EtcdBackup go on at every look.
func stages(all ...v1beta1.EtcdBackupStatus) func(client.Object) error {
	return func(o client.Object) error {
		b, is := o.(*v1beta1.EtcdBackup)
		if is && len(all) > 0 {
			b.Status = all[0]
			if len(all) > 1 {
				all = all[1:]
			}
		}
		return nil
	}
}

var (
	running = v1beta1.EtcdBackupStatus{
		Phase: v1beta1.BackupRunning,
		Progress: &v1beta1.BackupProgress{
			Read: v1beta1.SizeOf(5 << 20), Total: v1beta1.SizeOf(10 << 20), Percent: 50, Rate: v1beta1.SizeOf(1 << 20), Message: "it is written",
		},
		Conditions: []metav1.Condition{
			condition(v1beta1.ConditionComplete, metav1.ConditionFalse, v1beta1.ReasonBackupRunning),
			condition(v1beta1.ConditionVerified, metav1.ConditionUnknown, v1beta1.ReasonNotComplete),
		},
	}
	verifying = v1beta1.EtcdBackupStatus{
		Phase: v1beta1.BackupVerifying, Conditions: complete(metav1.ConditionUnknown, v1beta1.ReasonVerificationPending),
	}
	verified = v1beta1.EtcdBackupStatus{
		Phase: v1beta1.BackupComplete, Revision: 42, Store: "offsite", StoredSize: v1beta1.SizeOf(3 << 20),
		Conditions: complete(metav1.ConditionTrue, v1beta1.ReasonTrialPassed),
	}
)

func complete(is metav1.ConditionStatus, reason string) []metav1.Condition {
	return []metav1.Condition{
		condition(v1beta1.ConditionComplete, metav1.ConditionTrue, v1beta1.ReasonStored), condition(v1beta1.ConditionVerified, is, reason),
	}
}

// TestBackupIsFollowed: until it is verified, in lines where there is no terminal, and in a bar where there is one.
func TestBackupIsFollowed(t *testing.T) {
	w := newWorld(t, cluster("a", available), store("s"))
	w.operator = stages(v1beta1.EtcdBackupStatus{}, running, running, verifying, verified)
	wantExit(t, w.run(t.Context(), "backup", "a", "--store", "s", "--name", "b1", "--wait"), Done)
	wantText(t, &w.out, "backup b1 is verified: revision 42, 3Mi in store offsite")
	wantText(t, &w.err, "backup b1: 50 %, 5Mi of 10Mi, 1Mi/s, 5s left: it is written\n", "backup b1: verifying\n")
	if strings.Count(w.err.String(), "50 %") != 1 || strings.Contains(w.err.String(), "\r") {
		t.Errorf("a log has one line for each stage, and no bars:\n%q", w.err.String())
	}
	w.operator, w.width = stages(running, verified), 100
	wantExit(t, w.run(t.Context(), "backup", "a", "--store", "s", "--name", "b2", "--wait"), Done)
	wantText(t, &w.err, "\rbackup b2 [=============")
	var made v1beta1.EtcdBackup
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "b2"}, &made); err != nil ||
		made.Spec.Cluster != "a" || made.Spec.Store != "s" {
		t.Error(made.Spec, err)
	}
}

// TestBackupEnds: each way in which a backup can end has its exit code.
func TestBackupEnds(t *testing.T) {
	failed := running
	failed.Phase = v1beta1.BackupFailed
	corrupt, unwanted, encrypted := verified, verified, verified
	corrupt.Conditions = complete(metav1.ConditionFalse, v1beta1.ReasonJobCorrupt)
	unwanted.Conditions = complete(metav1.ConditionUnknown, v1beta1.ReasonNotWanted)
	encrypted.Conditions = complete(metav1.ConditionUnknown, v1beta1.ReasonEncrypted)
	tests := map[string]struct {
		status v1beta1.EtcdBackupStatus
		exit   int
	}{
		"failed": {failed, Unwell}, "corrupt": {corrupt, Unwell}, "unwanted": {unwanted, Done}, "encrypted": {encrypted, Unwell},
		"slow": {running, Unfinished},
	}
	for name, test := range tests {
		w := newWorld(t, cluster("a", available), store("s"))
		w.operator = stages(test.status)
		wantExit(t, w.run(t.Context(), "backup", "a", "--store", "s", "--name", name, "--wait", "--timeout", "100ms"), test.exit)
	}
}

// TestBackupGoesOnWithoutUs: Ctrl-C ends the wait, and says that the backup goes on.
func TestBackupGoesOnWithoutUs(t *testing.T) {
	w := newWorld(t, cluster("a", available), store("s"))
	ctx, cancel := context.WithCancel(t.Context())
	w.operator = func(o client.Object) error {
		if b, is := o.(*v1beta1.EtcdBackup); is {
			b.Status = running
			cancel()
		}
		return nil
	}
	wantExit(t, w.run(ctx, "backup", "a", "--store", "s", "--name", "b1", "--wait"), Unfinished)
	wantText(t, &w.err, "no longer waiting; backup b1 goes on: 'kubectl etcd backups a -n default' shows it")
}

// TestBackupOutlivesFaults: an API server that is away for a moment ends nothing; an EtcdBackup that was deleted does.
func TestBackupOutlivesFaults(t *testing.T) {
	w := newWorld(t, cluster("a", available), store("s"))
	looks := 0
	w.operator = func(o client.Object) error {
		b, is := o.(*v1beta1.EtcdBackup)
		if looks++; is && looks < 4 {
			return apierrors.NewServiceUnavailable("the API server restarts")
		}
		if is {
			b.Status = verified
		}
		return nil
	}
	wantExit(t, w.run(t.Context(), "backup", "a", "--store", "s", "--name", "b1", "--wait"), Done)
	w.operator = func(o client.Object) error {
		if _, is := o.(*v1beta1.EtcdBackup); is {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "etcdbackups"}, o.GetName())
		}
		return nil
	}
	wantExit(t, w.run(t.Context(), "backup", "a", "--store", "s", "--name", "b2", "--wait"), Failed)
}

// TestBackupNeedsAStore: it is asked before anything is created.
func TestBackupNeedsAStore(t *testing.T) {
	with := cluster("with", available)
	with.Spec.Backup = &v1beta1.Backup{Store: "offsite"}
	w := newWorld(t, cluster("without", available), with)
	wantExit(t, w.run(t.Context(), "backup", "without"), Failed)
	wantText(t, &w.err, "in which store?")
	wantExit(t, w.run(t.Context(), "backup", "with"), Done)
	wantExit(t, w.run(t.Context(), "backup", "nobody"), Failed)
	wantExit(t, w.run(t.Context(), "backup", "with", "--store", "nowhere"), Failed)
	wantText(t, &w.err, "there is no EtcdBackupStore nowhere")
	wantExit(t, w.run(t.Context(), "backup"), Failed)
	wantText(t, &w.err, "one cluster is to be named: kubectl etcd backup CLUSTER [flags]")
	var all v1beta1.EtcdBackupList
	if err := w.client.List(t.Context(), &all); err != nil || len(all.Items) != 1 {
		t.Error(len(all.Items), err)
	}
}

// TestBackupsAreListed: those of one cluster, those that were found too, the newest first.
func TestBackupsAreListed(t *testing.T) {
	made := &v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "made"}}
	made.Spec.Cluster = "a"
	made.Status = verified
	made.Status.StartedAt = ptr.To(metav1.NewTime(noon.Add(-2 * time.Hour)))
	found := &v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "found"}}
	found.Spec = v1beta1.EtcdBackupSpec{Store: "offsite", Found: "v1/x"}
	found.Status = verified
	found.Status.Cluster, found.Status.StartedAt = "a", ptr.To(metav1.NewTime(noon.Add(-time.Hour)))
	other := made.DeepCopy()
	other.Name, other.Spec.Cluster = "other", "b"
	w := newWorld(t, made, found, other)
	wantExit(t, w.run(t.Context(), "backups", "a"), Done)
	lines := strings.Split(w.out.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[1], "found") || !strings.HasPrefix(lines[2], "made") {
		t.Errorf("listed:\n%s", w.out.String())
	}
	wantExit(t, w.run(t.Context(), "backups"), Done)
	wantText(t, &w.out, "other")
	wantExit(t, w.run(t.Context(), "backups", "c"), Done)
	wantText(t, &w.err, "there is no EtcdBackup in namespace default that is of c")
}
