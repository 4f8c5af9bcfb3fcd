package runner_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
	"github.com/etcd-operator/etcd-operator/internal/runner"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// A backup of a real cluster is sent by a follower, found, restored on trial and for each member, and deleted.
func TestLifeOfABackup(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd: run it without -short")
	}
	w := newWorld(t)
	w.put(300)
	leader := w.cluster.Leader()

	done := w.does(task.Order{Verb: task.Backup, Backup: w.order()}).Done
	if done.Source == leader || done.Source == "" {
		t.Errorf("%s sent the snapshot, and %s leads", done.Source, leader)
	}
	facts := done.Backup
	if facts.Keys == nil || *facts.Keys != 300 || facts.Revision != 301 || facts.ManifestSHA256 == "" {
		t.Errorf("the backup has %+v, and 300 keys at revision 301 were put", facts)
	}

	again := w.does(task.Order{Verb: task.Backup, Backup: w.order()}).Done
	if again.Backup.ManifestSHA256 != facts.ManifestSHA256 {
		t.Error("a Job whose answer was lost wrote another backup")
	}

	lines := w.says(task.Order{Verb: task.Check, Check: &task.CheckOrder{Write: true}})
	if found := lines[0].Found; found == nil || found.Path != path || found.Backup.Revision != 301 {
		t.Errorf("the store lists %+v", lines[0])
	}
	if checked := lines[len(lines)-1].Done.Check; checked == nil || checked.Backups != 1 {
		t.Errorf("the check says %+v", lines[len(lines)-1].Done)
	}

	trial := &task.TrialOrder{Path: path, ManifestSHA256: facts.ManifestSHA256, Minor: "3.6"}
	if end := w.does(task.Order{Verb: task.Unpack, Trial: trial}); end.Done == nil {
		t.Errorf("the trial failed: %+v", end.Failed)
	}
	if _, err := os.Stat(filepath.Join(w.in.Folders.Scratch, task.ScratchData, "member", "snap", "db")); err != nil {
		t.Error(err)
	}

	restore := &task.RestoreOrder{
		Path: path, ManifestSHA256: facts.ManifestSHA256, DataDirectory: "data", Member: "n1", Token: "new", Minor: "3.6", Bump: 1000,
		InitialCluster: map[string]string{"n1": "http://n1:2380"},
	}
	for range 2 { // the second Job finds that the first one did it
		if end := w.does(task.Order{Verb: task.Restore, Restore: restore}); end.Done == nil {
			t.Errorf("the restore failed: %+v", end.Failed)
		}
	}
	restore.Token = "other"
	w.fails(task.Order{Verb: task.Restore, Restore: restore}, task.NotEmpty, true)

	w.fails(task.Order{Verb: task.Restore, Restore: &task.RestoreOrder{
		Path: path, DataDirectory: "older", Member: "n1", Token: "new", Minor: "3.5", InitialCluster: restore.InitialCluster,
	}}, task.WrongVersion, true)

	remove := task.Order{Verb: task.Delete, Delete: &task.DeleteOrder{Path: path, ManifestSHA256: "of another backup"}}
	w.does(remove)
	if left := w.stored(); len(left) < 2 {
		t.Errorf("another backup than the one that was meant was deleted: %v is left", left)
	}
	remove.Delete.ManifestSHA256 = facts.ManifestSHA256
	w.does(remove)
	w.does(remove)
	if left := w.stored(); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// What lies in the store is checked before anything is made of it (fault 58).
func TestFault58(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd: run it without -short")
	}
	w := newWorld(t)
	w.put(100)
	w.does(task.Order{Verb: task.Backup, Backup: w.order()})
	parts := w.stored()
	content, err := os.ReadFile(parts[0])
	must(t, err)
	content[len(content)/2] ^= 1
	must(t, os.WriteFile(parts[0], content, 0o600))
	w.fails(task.Order{Verb: task.Unpack, Trial: &task.TrialOrder{Path: path, Minor: "3.6"}}, task.Corrupt, true)
	if _, err := os.Stat(filepath.Join(w.in.Folders.Scratch, task.ScratchData)); err == nil {
		t.Error("a data directory was made of it")
	}
	w.fails(task.Order{Verb: task.Unpack, Trial: &task.TrialOrder{Path: path, ManifestSHA256: "another", Minor: "3.6"}}, task.Corrupt, true)
}

// What an upload has left that was torn is no backup, and is replaced by the next one (fault 60).
func TestFault60(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd: run it without -short")
	}
	w := newWorld(t)
	w.put(100)
	w.does(task.Order{Verb: task.Backup, Backup: w.order()})
	manifest := w.stored()[1]
	must(t, os.Remove(manifest))
	if found := w.says(task.Order{Verb: task.Check, Check: &task.CheckOrder{Sweep: true}})[0].Found; found != nil {
		t.Errorf("the rest of an upload is listed: %+v", found)
	}
	w.put(200)
	if done := w.does(task.Order{Verb: task.Backup, Backup: w.order()}).Done; done == nil || *done.Backup.Keys != 200 {
		t.Errorf("the next Job says %+v", done)
	}
}

// Only who has an identity reads a backup that is encrypted.
func TestEncrypted(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd: run it without -short")
	}
	w := newWorld(t)
	w.put(10)
	identity, err := age.GenerateX25519Identity()
	must(t, err)
	order := w.order()
	order.Recipients = []string{identity.Recipient().String()}
	w.does(task.Order{Verb: task.Backup, Backup: order})
	trial := &task.TrialOrder{Path: path, Minor: "3.6"}
	w.fails(task.Order{Verb: task.Unpack, Trial: trial}, task.WrongKey, true)
	must(t, os.WriteFile(filepath.Join(w.in.Folders.Identities, "identities"), []byte(identity.String()+"\n"), 0o600))
	trial.Identities = true
	w.does(task.Order{Verb: task.Unpack, Trial: trial})
}

// A member of another cluster is not asked, whatever its address was.
func TestAnotherCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd: run it without -short")
	}
	w := newWorld(t)
	order := w.order()
	order.ClusterID = "1234"
	w.fails(task.Order{Verb: task.Backup, Backup: order}, task.MemberFailed, false)
}

// An order without what its verb needs is refused, and so is a verb of another version.
func TestUnclearOrders(t *testing.T) {
	for _, verb := range []task.Verb{task.Check, task.Backup, task.Unpack, task.Verify, task.Restore, task.Delete, "fly"} {
		var out bytes.Buffer
		in := runner.Environment{Out: &out, Now: time.Now}
		if err := runner.Run(t.Context(), task.Order{Verb: verb}, in); err == nil || !strings.Contains(out.String(), "OrderNotClear") {
			t.Errorf("%s: %v, %s", verb, err, out.String())
		}
	}
}

const path = "v1/default/example/uid-1"

type world struct {
	*testing.T
	cluster *process.Cluster
	in      runner.Environment
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, cluster: process.Run(t, "3.6.16", 3)}
	folder := func() string { return t.TempDir() }
	w.in = runner.Environment{Now: time.Now, Getenv: func(string) string { return "" }, Folders: runner.Folders{
		Volume: folder(), Scratch: folder(), Member: folder(), Identities: folder(), Keys: folder(), CA: folder(), Client: folder(),
	}}
	return w
}

func (w *world) order() *task.BackupOrder {
	order := &task.BackupOrder{ID: "uid-1", Name: "first", Namespace: "default", Cluster: "example", HashBelow: 1 << 30}
	for _, name := range []string{"m1", "m2", "m3"} {
		order.Members = append(order.Members, task.Member{Name: name, Address: w.cluster.Member(name).Client})
	}
	return order
}

func (w *world) put(count int) {
	w.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + w.cluster.Member("m1").Client}})
	must(w.T, err)
	defer client.Close()
	for i := range count {
		_, err := client.Put(w.Context(), "key/"+strings.Repeat("x", i), "value")
		must(w.T, err)
	}
}

// says are the lines of a Job, without progress.
func (w *world) says(order task.Order) []task.Line {
	w.Helper()
	var out bytes.Buffer
	in := w.in
	in.Out = &out
	order.Store.Volume = &task.Volume{}
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	err := runner.Run(ctx, order, in)
	var lines []task.Line
	for scanner := bufio.NewScanner(&out); scanner.Scan(); {
		line, ok := task.Parse(scanner.Bytes())
		if !ok {
			w.Fatalf("no line: %s", scanner.Text())
		}
		if line.Progress == nil {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 || (err == nil) != (lines[len(lines)-1].Done != nil) {
		w.Fatalf("%v: the Job said %+v", err, lines)
	}
	return lines
}

func (w *world) does(order task.Order) task.Line {
	w.Helper()
	lines := w.says(order)
	end := lines[len(lines)-1]
	if end.Done == nil {
		w.Fatalf("%s failed: %+v", order.Verb, end.Failed)
	}
	return end
}

func (w *world) fails(order task.Order, reason task.Reason, final bool) {
	w.Helper()
	lines := w.says(order)
	if failed := lines[len(lines)-1].Failed; failed == nil || failed.Reason != reason || failed.Final != final {
		w.Errorf("%s: %+v, and it should be %s", order.Verb, failed, reason)
	}
}

// stored are the files of the backup.
func (w *world) stored() []string {
	w.Helper()
	files, err := filepath.Glob(filepath.Join(w.in.Folders.Volume, path, "*"))
	must(w.T, err)
	return files
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
