// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// world is a cluster that a test can break: a real one, or the fake.
type world interface {
	client(t *testing.T, name string) etcd.Client
	peerURL(name string) string
	start(t *testing.T, name string) // one that is in the member list
	stop(t *testing.T, name string)
}

const (
	patience   = 2 * time.Minute // for what etcd does in its own time; a longer wait costs only what fails
	pause      = 50 * time.Millisecond
	unknown    = 0xdead
	noAnswerIn = 700 * time.Millisecond
)

// conforms takes a cluster of the single member m1 through its whole life. It
// runs against real etcd and against the fake, so that they cannot drift.
func conforms(t *testing.T, w world) {
	one, two := w.client(t, "m1"), w.client(t, "m2")
	eventually(t, "m1 to serve", func() error { return one.Read(t.Context()) })
	first := aloneAndHealthy(t, w, one)
	accessIsManaged(t, one)
	downgradeIsEnabledOnce(t, one)
	second := learnerIsAddedOnce(t, w, one)
	learnerAnswersStatusOnly(t, w, two)
	learnerIsPromotedOnce(t, one, second)
	leadershipMoves(t, one, two, first, second)
	minorityTellsWhatItKnows(t, w, two)
	memberIsRemovedOnce(t, w, two, first, second)
	hashesAreOfOneRevision(t, two)
	keysArePutOnce(t, two)
	snapshotIsWhole(t, two)
	absentMemberFailsQuickly(t, w)
}

func hashesAreOfOneRevision(t *testing.T, two etcd.Client) {
	revision := must(two.Status(t.Context()))(t).Revision
	if hash := must(two.HashKV(t.Context(), revision))(t); hash.Sum == 0 || hash.Compacted > revision {
		t.Errorf("the hash at %d is %+v", revision, hash)
	}
	_, err := two.HashKV(t.Context(), revision+1000)
	refused(t, "a hash of what is not written yet", err)
	if keys := must(two.Count(t.Context(), revision))(t); keys != 0 {
		t.Errorf("%d keys, and none was put", keys)
	}
	_, err = two.Count(t.Context(), revision+1000)
	refused(t, "a count of what is not written yet", err)
	want(t, "disarming what is not raised", two.Disarm(t.Context(), etcd.Alarm{MemberID: unknown, Kind: "NOSPACE"}), nil)
}

// keysArePutOnce: a hundred in one transaction; those that are there stay as they are, and keep no other from being put; what etcd
// refuses has no effect.
func keysArePutOnce(t *testing.T, two etcd.Client) {
	ctx := t.Context()
	var all []etcd.KeyValue
	for n := range 100 {
		all = append(all, etcd.KeyValue{Key: fmt.Appendf(nil, "/k/%d", n), Value: []byte{0, byte(n)}})
	}
	before := must(two.Revision(ctx))(t)
	wantPut := func(what string, keys []etcd.KeyValue, want int, revision int64) {
		t.Helper()
		if put, at, err := two.PutMissing(ctx, keys); err != nil || put != want || at != revision {
			t.Errorf("%s: put %d at revision %d, want %d at %d: %v", what, put, at, want, revision, err)
		}
	}
	wantPut("half", all[:50], 50, before+1)
	wantPut("all", all, 50, before+2)
	wantPut("all again", all, 0, before+2)
	refusedPut := func(what string, keys ...etcd.KeyValue) {
		t.Helper()
		_, _, err := two.PutMissing(ctx, keys)
		refused(t, what, err)
	}
	fresh := etcd.KeyValue{Key: []byte("/new")}
	refusedPut("a key twice", fresh, fresh)
	refusedPut("no key", fresh, etcd.KeyValue{Value: []byte("v")})
	refusedPut("too many", slices.Concat(all, all)...)
	if keys := must(two.Count(ctx, before+2))(t); keys != 100 {
		t.Errorf("%d keys, want 100", keys)
	}
}

// snapshotIsWhole: etcd's sum is its last 32 bytes, and it is as long as was said at once.
func snapshotIsWhole(t *testing.T, client etcd.Client) {
	status := must(client.Status(t.Context()))(t)
	if !strings.HasPrefix(status.Version, "3.5.") { // until it is written into the data, the status says what it must be at least
		eventually(t, "the data to be of its own version", func() error { return isOfItsVersion(t, client) })
		status = must(client.Status(t.Context()))(t)
	}
	snapshot := must(client.Snapshot(t.Context()))(t)
	content := must(io.ReadAll(snapshot))(t)
	if err := snapshot.Close(); err != nil {
		t.Error(err)
	}
	if int64(len(content)) != snapshot.Size || len(content)%512 != sha256.Size {
		t.Fatalf("a snapshot of %d bytes, and %d were announced", len(content), snapshot.Size)
	}
	database := content[:len(content)-sha256.Size]
	if sum := sha256.Sum256(database); !bytes.Equal(sum[:], content[len(database):]) {
		t.Error("the snapshot does not end with its sha256")
	}
	if snapshot.StorageVersion != status.StorageVersion {
		t.Errorf("the storage version is %q, and %q by the status", snapshot.StorageVersion, status.StorageVersion)
	}
}

func aloneAndHealthy(t *testing.T, w world, one etcd.Client) (id uint64) {
	status := must(one.Status(t.Context()))(t)
	if status.MemberID == 0 || status.LeaderID != status.MemberID || status.ClusterID == 0 {
		t.Errorf("m1 does not lead itself: %+v", status)
	}
	if status.Version == "" || status.DBSize == 0 || status.Revision == 0 ||
		status.RaftTerm == 0 || status.Learner || len(status.Errors) > 0 {
		t.Errorf("status is incomplete: %+v", status)
	}
	if revision := must(one.Revision(t.Context()))(t); revision != status.Revision {
		t.Errorf("revision %d, and by its status %d", revision, status.Revision)
	}
	members := must(one.Members(t.Context()))(t)
	if len(members) != 1 || members[0].ID != status.MemberID || members[0].Name != "m1" || members[0].Learner ||
		!slices.Equal(members[0].PeerURLs, []string{w.peerURL("m1")}) || len(members[0].ClientURLs) != 1 {
		t.Errorf("not the list of one voter: %+v", members)
	}
	if err := one.WriteEntry(t.Context()); err != nil {
		t.Errorf("write an entry: %v", err)
	}
	return status.MemberID
}

func downgradeIsEnabledOnce(t *testing.T, one etcd.Client) {
	target := func() string {
		t.Helper()
		enabled := must(one.Status(t.Context()))(t).Downgrade
		if goes := must(one.DowngradeEnabled(t.Context()))(t); goes != (enabled != "") {
			t.Errorf("asked whether it goes down it says %t, and %q by its status", goes, enabled)
		}
		return enabled
	}
	status := must(one.Status(t.Context()))(t)
	if strings.HasPrefix(status.Version, "3.5.") {
		if status.StorageVersion != "" || status.Downgrade != "" {
			t.Errorf("this version cannot report it: %+v", status)
		}
		target()
		return
	}
	to := must(below(status.Version, 1))(t)
	eventually(t, "the data to be of its own version", func() error { return isOfItsVersion(t, one) })

	want(t, "cancelling nothing", one.CancelDowngrade(t.Context()), nil)
	refused(t, "going down two minor versions", one.Downgrade(t.Context(), must(below(status.Version, 2))(t)))
	refused(t, "going down to what is no version", one.Downgrade(t.Context(), "older"))
	if target() != "" {
		t.Errorf("enabled already, to %q", target())
	}

	eventuallyReady(t, "a downgrade to be enabled", func() error { return one.Downgrade(t.Context(), to) })
	want(t, "enabling it again", one.Downgrade(t.Context(), to), nil)
	if target() != to {
		t.Errorf("enabled to %q, want %q", target(), to)
	}
	eventually(t, "the data to be readable for it", func() error {
		if storage := must(one.Status(t.Context()))(t).StorageVersion; storage != to+".0" {
			return errors.New("is still of " + storage)
		}
		return nil
	})
	want(t, "enabling it afterwards", one.Downgrade(t.Context(), to), nil)

	want(t, "cancelling it", one.CancelDowngrade(t.Context()), nil)
	want(t, "cancelling it again", one.CancelDowngrade(t.Context()), nil)
	if target() != "" {
		t.Errorf("still enabled to %q", target())
	}
}

// isOfItsVersion is nil once etcd has brought its data to its own version, which it
// looks after some seconds after its start.
func isOfItsVersion(t *testing.T, one etcd.Client) error {
	t.Helper()
	status := must(one.Status(t.Context()))(t)
	if want := must(below(status.Version, 0))(t) + ".0"; status.StorageVersion != want {
		return fmt.Errorf("is of %q, not %q", status.StorageVersion, want)
	}
	return nil
}

// below is the minor version so many steps older.
func below(version string, steps int) (string, error) {
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d.", &major, &minor)
	return fmt.Sprintf("%d.%d", major, minor-steps), err
}

func learnerIsAddedOnce(t *testing.T, w world, one etcd.Client) (id uint64) {
	added := must(one.AddLearner(t.Context(), w.peerURL("m2")))(t)
	if added.ID == 0 || added.Name != "" || !added.Learner || !slices.Equal(added.PeerURLs, []string{w.peerURL("m2")}) {
		t.Errorf("not a new learner: %+v", added)
	}
	if again := must(one.AddLearner(t.Context(), w.peerURL("m2")))(t); again.ID != added.ID || !again.Learner {
		t.Errorf("added a second time: %+v", again)
	}
	_, err := one.AddLearner(t.Context(), w.peerURL("m3"))
	want(t, "a second learner", err, etcd.ErrNotReady)
	want(t, "promoting a learner that never ran", one.Promote(t.Context(), added.ID), etcd.ErrNotReady)
	refused(t, "promoting an unknown member", one.Promote(t.Context(), unknown))
	refused(t, "a learner as leader", one.MoveLeader(t.Context(), added.ID))
	members := must(one.Members(t.Context()))(t)
	if len(members) != 2 || members[0].ID >= members[1].ID {
		t.Errorf("not two members sorted by ID: %+v", members)
	}
	return added.ID
}

func learnerAnswersStatusOnly(t *testing.T, w world, two etcd.Client) {
	w.start(t, "m2")
	eventually(t, "the learner to answer", func() error {
		status, err := two.Status(t.Context())
		if err == nil && !status.Learner {
			t.Errorf("not a learner: %+v", status)
		}
		return err
	})
	_, err := two.Members(t.Context())
	want(t, "members of a learner", err, etcd.ErrLearner)
	snapshotIsWhole(t, two)
	want(t, "reading from a learner", two.Read(t.Context()), etcd.ErrLearner)
	want(t, "downgrading through a learner", two.Downgrade(t.Context(), "3.5"), etcd.ErrLearner)
	want(t, "cancelling through a learner", two.CancelDowngrade(t.Context()), etcd.ErrLearner)
}

func learnerIsPromotedOnce(t *testing.T, one etcd.Client, id uint64) {
	eventuallyReady(t, "the learner to be promoted", func() error { return one.Promote(t.Context(), id) })
	for range 2 {
		want(t, "promoting a voter", one.Promote(t.Context(), id), nil)
	}
	for _, m := range must(one.Members(t.Context()))(t) {
		if m.Learner || m.Name == "" || len(m.ClientURLs) != 1 {
			t.Errorf("not a voter that has started: %+v", m)
		}
	}
}

func leadershipMoves(t *testing.T, one, two etcd.Client, first, second uint64) {
	eventually(t, "m2 to serve as a voter", func() error { return two.Read(t.Context()) })
	refused(t, "moving leadership through a follower", two.MoveLeader(t.Context(), second))
	want(t, "leadership to the leader", one.MoveLeader(t.Context(), first), nil)
	want(t, "leadership to m2", one.MoveLeader(t.Context(), second), nil)
	want(t, "the same, asked of the old leader", one.MoveLeader(t.Context(), second), nil)
	want(t, "the same, asked of the new leader", two.MoveLeader(t.Context(), second), nil)
	if status := must(two.Status(t.Context()))(t); status.LeaderID != second {
		t.Errorf("m2 does not lead: %+v", status)
	}
}

func minorityTellsWhatItKnows(t *testing.T, w world, two etcd.Client) {
	w.stop(t, "m1")
	ctx, cancel := context.WithTimeout(t.Context(), noAnswerIn)
	defer cancel()
	want(t, "reading without quorum", two.Read(ctx), context.DeadlineExceeded)
	eventually(t, "m2 to know that it lost its quorum", func() error {
		if status := must(two.Status(t.Context()))(t); status.LeaderID != 0 || len(status.Errors) == 0 {
			return errors.New("still has a leader")
		}
		return nil
	})
	if members := must(two.Members(t.Context()))(t); len(members) != 2 {
		t.Errorf("without a leader it lists %+v", members)
	}
	w.start(t, "m1")
	eventually(t, "the quorum to be back", func() error { return two.Read(t.Context()) })
}

func memberIsRemovedOnce(t *testing.T, w world, two etcd.Client, first, second uint64) {
	eventually(t, "m2 to lead", func() error {
		if status := must(two.Status(t.Context()))(t); status.LeaderID != second {
			return w.client(t, "m1").MoveLeader(t.Context(), second)
		}
		return nil
	})
	eventuallyReady(t, "m1 to be removed", func() error { return two.Remove(t.Context(), first) })
	want(t, "removing m1 again", two.Remove(t.Context(), first), nil)
	want(t, "removing an unknown member", two.Remove(t.Context(), unknown), nil)
	if members := must(two.Members(t.Context()))(t); len(members) != 1 || members[0].ID != second {
		t.Errorf("not the list of m2 alone: %+v", members)
	}
	want(t, "reading from what remains", two.Read(t.Context()), nil)
}

func absentMemberFailsQuickly(t *testing.T, w world) {
	w.stop(t, "m2")
	ctx, cancel := context.WithTimeout(t.Context(), patience) // that it does not wait for
	defer cancel()
	for range 3 {
		refused(t, "status of a member that does not run", func() error {
			_, err := w.client(t, "m2").Status(ctx)
			return err
		}())
	}
}

// eventually repeats until there is no error.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	deadline := time.After(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("waited %s for %s: %v", patience, what, err)
		case <-time.After(pause):
		}
	}
}

// eventuallyReady repeats only while etcd refuses for now.
func eventuallyReady(t *testing.T, what string, try func() error) {
	t.Helper()
	eventually(t, what, func() error {
		err := try()
		if err != nil && !errors.Is(err, etcd.ErrNotReady) {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		return err
	})
}

func want(t *testing.T, what string, err, wanted error) {
	t.Helper()
	if !errors.Is(err, wanted) {
		t.Errorf("%s: got error %v, want %v", what, err, wanted)
	}
}

// refused wants a final answer: neither success, nor "not now", nor silence.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || errors.Is(err, etcd.ErrNotReady) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: got error %v, want a final refusal", what, err)
	}
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
