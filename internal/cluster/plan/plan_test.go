// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestPlan runs the scripts in testdata. A script describes a world, one member
// a line, and prints what the plan says of it:
//
//	next size=3       print the one next step and the rule that chose it
//	settle size=3     obey steps in the toy world until the plan rests
//
// Arguments: size, ephemeral, forbidden (the spec asks for what is not allowed), new (nothing is recorded yet), unformed (the first
// members are chosen, the cluster was not seen to form), deleting, fresh, paused, automatic,
// rollback, joining=NAME, recovering=NAME, accept=NAME@REVISION, next=SERIAL,
// version=WANTED, bad=VERSION (it does not run), downgrade=MINOR, unread=(WHY), split=(WHY), undecided=(WHY),
// objects=(KIND NAME) (it is not as wanted), owner=VOLUME, small=VOLUME, no-version=VOLUME (it does not say what its
// member runs) and no-labels=VOLUME (they are not as wanted),
// parts=(KIND NAME) (as objects, and signed by another authority than before), unwanted=(KIND NAME) (as objects, and not wanted at all),
// gone=AUTHORITY and held=AUTHORITY (it cannot sign; held: what it signed is still there),
// refused=(KIND NAME) (it does not grow), newer (a newer operator wrote the record),
// denied (Kubernetes has just refused what is not as wanted; undone: it has just been changed back),
// adopted (with unformed: its volumes were there before, and its list was never read),
// revision=KNOWN, image=OF_THE_USER, await=WHAT (etcd is about to do, between two versions),
// offer=(BACKUP, REVISION) (the newest verified backup; unfit=sealed or unfit=(WHY): it cannot be restored; request=exists, foreign,
// undone, fills or (WHY): the EtcdRestore that was made for it, or why it has not begun),
// inplace=(done, undo, waiting or a problem) (members give way to those that are chosen or set aside),
// allow=MINOR (the downgrade that is to be enabled), guarded (minor versions and hibernation wait for a backup), last (so does
// deletion), expired (its time is over), adopt (a running cluster is: its members are lines that begin with "source"; with new it has
// not begun), undo (it is undone), free (it has no finalizer for it), sleepy (the size is 0 meanwhile),
// complete (it is over), silent-set (its StatefulSet does not agree), ordered (it is OrderedReady),
// unfit-source=WHY, away (it does not answer), replicas=N (of the StatefulSet that runs it), keep (volumes of sources are kept),
// unfit-volume=SOURCE (it cannot be), in-use=SOURCE (its Pod is there yet), leaving (it is being deleted, and is held;
// cascades: with its members first, orphans: without them), asleep (a backup was made before the hibernation), unlucky (no backup is good),
// before (what is forbidden was allowed), volumes=MIB (that each is to have), max-volume=MIB (up to which they grow), off (nothing is
// defragmented by the spec, but if ask, the annotation, does), closed (nor now), backing-up (a backup goes on), own-quota (the user's),
// keep-slow (slow members are not replaced), cpu=(HAVE, MAY, USED, HOW LONG) and memory=(the same, in MiB). A member line is a name and any
// of the words that describe knows. Lines that begin with "unknown", "service", "foreign", "expired", "volume" or "alarm" describe those,
// and those that begin with "beside" what is to replace the members (empty: its volume has no data yet, refused: Kubernetes refuses its
// Pod).
//
// If it fails, run with -rewrite and read the diff before you commit it.
func TestPlan(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w := parse(t, d)
			var out strings.Builder
			for range 100 {
				step, because := plan.Next(w.view)
				fmt.Fprintf(&out, "%-44s (%s)\n", step, because)
				if s, is := step.(plan.Quarantine); is && because == "restore in place" && s.KeepFor != w.view.Restore.KeepFor {
					t.Errorf("%s: the volume of %s is kept for %s", d.Pos, s.Name, s.KeepFor)
				}
				if d.Cmd == "next" || plan.Rests(step) && !w.settling() && !w.backup.isMaking() && !w.fills() {
					return out.String()
				}
				w.obey(step)
			}
			return out.String() + "never settles\n"
		})
	})
}

// arguments are those that a command of a script may have.
var arguments = []string{
	"adopt", "undo", "sleepy", "free", "complete", "silent-set", "ordered",
	"unfit-source", "away", "replicas", "keep", "unfit-volume", "in-use",
	"accept", "adopted", "allow", "asleep", "automatic", "await", "bad", "before", "canwait", "cascades", "cpu", "deleting", "denied",
	"downgrade", "ephemeral", "forbidden",
	"expired", "fresh", "gone", "guarded", "held", "image", "inplace", "joining", "lacking", "last", "leaving", "locked", "misnamed", "new",
	"newer", "next", "not-root",
	"no-labels", "no-version", "objects", "offer", "orphans", "owner", "parts", "paused", "recovering", "refused", "relieved",
	"request", "revision",
	"ask", "backing-up", "closed", "history", "keep-slow", "max-volume", "memory", "off", "own-quota", "volumes", "no-member", "nospace",
	"revoking", "rollback", "rotate", "self", "size",
	"tls", "tls-held", "tls-window", "restore", "small", "split", "undecided", "undone", "unfit", "unformed", "unlucky", "unread",
	"unwanted", "version",
}

// mustKnow fails if the script has a command or an argument that nothing reads.
func mustKnow(t *testing.T, d *datadriven.TestData) {
	if d.Cmd != "next" && d.Cmd != "settle" {
		t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
	for _, arg := range d.CmdArgs {
		if !slices.Contains(arguments, arg.Key) {
			t.Fatalf("%s: unknown argument %q", d.Pos, arg.Key)
		}
	}
}

func parse(t *testing.T, d *datadriven.TestData) *world {
	mustKnow(t, d)
	w := newWorld(3, false)
	v := &w.view
	d.MaybeScanArgs(t, "version", &v.Want.Version)
	d.MaybeScanArgs(t, "bad", &w.bad)
	d.MaybeScanArgs(t, "downgrade", &w.downgrade)
	v.DowngradeTarget = w.downgrade
	d.MaybeScanArgs(t, "recovering", &v.Record.Recovering)
	d.MaybeScanArgs(t, "accept", &v.Want.Accepted)
	scanOffer(t, d, w)
	var revision int
	d.MaybeScanArgs(t, "revision", &revision)
	v.Record.Revision = int64(revision)
	d.MaybeScanArgs(t, "await", &v.Target.Await)
	d.MaybeScanArgs(t, "misnamed", &v.Target.Misnamed)
	d.MaybeScanArgs(t, "allow", &v.Target.Downgrade)
	d.MaybeScanArgs(t, "image", &v.Target.Image)
	v.Want.Automatic, v.Want.RollBack = d.HasArg("automatic"), d.HasArg("rollback")
	if d.HasArg("paused") {
		v.Want.Paused = "spec.paused is true"
	}
	v.Want.Allowed = d.HasArg("before")
	if d.HasArg("forbidden") {
		v.Want.Forbidden = "spec.image is not allowed"
	}
	v.Target.Version = v.Want.Version
	if d.HasArg("newer") {
		v.Newer = "its status has format 9"
	}
	d.MaybeScanArgs(t, "size", &v.Want.Size)
	d.MaybeScanArgs(t, "next", &v.Record.NextSerial)
	d.MaybeScanArgs(t, "joining", &v.Record.Joining)
	v.Locked = d.HasArg("locked")
	if d.HasArg("not-root") {
		v.NotRoot = "etcd does not accept the operator as root"
	}
	v.Want.Ephemeral, v.Deleting, v.Fresh = d.HasArg("ephemeral"), d.HasArg("deleting"), d.HasArg("fresh")
	v.Objects, v.Refused = object(t, d, "objects"), object(t, d, "refused")
	for _, o := range object(t, d, "parts") {
		o.ChangesCA = true
		v.Objects = append(v.Objects, o)
	}
	for _, o := range object(t, d, "unwanted") {
		o.UID = "u9"
		v.Objects = append(v.Objects, o)
	}
	if d.HasArg("lacking") {
		v.Certificates = cluster.Certificates{External: true, Lacking: true, Fault: "Secret web: there is no such Secret: create it"}
	}
	for arg, holder := range map[string]string{"gone": "", "held": "a-member-tls"} {
		var name string
		if d.MaybeScanArgs(t, arg, &name) {
			v.Lost = append(v.Lost, cluster.Object{Kind: "Secret", Name: name, Why: "it is missing", Holder: holder})
		}
	}
	d.MaybeScanArgs(t, "revoking", &v.Revocation.Await)
	var rotate string
	if d.MaybeScanArgs(t, "rotate", &rotate) || d.HasArg("held") {
		due := strings.HasPrefix(rotate, "due") || d.HasArg("held")
		w.rotating = rotating{of: "a-peer-ca", due: due, ended: strings.HasPrefix(rotate, "ended")}
		w.rotating.asked, w.rotating.other = rotate == "ended-asked" || rotate == "ended-open-asked", rotate == "due-other"
		w.rotating.replaced = strings.HasPrefix(rotate, "ended-replaced")
		w.rotating.open = strings.Contains(rotate, "-open")
		if len(v.Lost) > 0 {
			w.rotating.of = v.Lost[0].Name
		}
		w.turns()
	}
	for arg, part := range map[string]cluster.Part{
		"owner": cluster.Owner, "no-labels": cluster.Labels, "small": cluster.Size, "no-version": cluster.Version,
	} {
		var name string
		if d.MaybeScanArgs(t, arg, &name) {
			v.Misfits = append(v.Misfits, cluster.Object{Kind: "PersistentVolumeClaim", Name: name, Part: part})
		}
	}
	if !d.HasArg("new") {
		v.Record.Token = v.UID
	}
	if !d.HasArg("new") && !d.HasArg("unformed") {
		v.Record.ClusterID, w.formed = clusterID, true
	}
	if d.HasArg("adopted") {
		v.Record.Adopted, w.formed = true, true
	}
	for _, line := range strings.Split(d.Input, "\n") {
		if words := strings.Fields(line); len(words) > 0 {
			parseLine(t, w, words)
		}
	}
	parseTurning(t, d, w)
	parseAdoption(t, d, v)
	if d.HasArg("denied") {
		deny(v, cluster.Denial{Because: "a webhook says no"})
	}
	if d.HasArg("undone") {
		deny(v, cluster.Denial{Undone: true})
	}
	if d.HasArg("canwait") {
		v.Objects[0].CanWait = true
	}
	d.MaybeScanArgs(t, "no-member", &v.Want.NoMember)
	w.full, w.history, v.Want.Heals = d.HasArg("nospace"), d.HasArg("history"), !d.HasArg("self")
	v.Want.Guarded, v.Want.Last, w.backup.fails = d.HasArg("guarded"), d.HasArg("last"), d.HasArg("unlucky")
	v.Want.Expired = d.HasArg("expired")
	v.Backup.Leaving, v.Backup.Cascades = d.HasArg("leaving") || d.HasArg("cascades"), d.HasArg("cascades")
	v.Backup.Orphans = d.HasArg("orphans")
	v.Backup.Held = v.Backup.Leaving && (!d.HasArg("adopt") || v.Want.Last)
	if d.HasArg("asleep") {
		v.Record.Awaited = cluster.Awaited{Name: "a-before-hibernation-0", Before: cluster.BeforeHibernation, Done: true}
	}
	parseSpace(d, w)
	v.Want.ReplacesSlow, v.Want.SlowTimeout = !d.HasArg("keep-slow"), time.Hour
	if d.Cmd == "settle" {
		w.settle()
	}
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "restore":
			v.Restore.Wanted = true
			switch words := strings.Join(arg.Vals, " "); words {
			case "done":
				v.Restore.Done, v.Restore.Progress = true, "the volumes to be filled"
			case "waiting":
				v.Restore.Progress = "the data of a-0 to be restored: more than 40 %"
			default:
				v.Restore.Problem = words
			}
		case "inplace":
			parseInPlace(v, strings.Join(arg.Vals, " "))
		case "relieved":
			v.Relieved = true
		case "undecided":
			v.Undecided = strings.Join(arg.Vals, " ")
		case "split":
			v.Split = strings.Join(arg.Vals, " ")
			v.Unread = v.Split
		case "unread":
			v.Unread = strings.Join(arg.Vals, " ")
		}
	}
	return w
}

func scanOffer(t *testing.T, d *datadriven.TestData, w *world) {
	var revision int
	offer := cluster.RestoreCandidate{Begun: nightly.Begun}
	if d.MaybeScanArgs(t, "offer", &offer.Backup, &revision) {
		offer.Revision = int64(revision)
	}
	words := map[string]string{}
	for _, arg := range d.CmdArgs {
		words[arg.Key] = strings.Join(arg.Vals, " ")
	}
	w.parseOffer(offer, words["unfit"], words["request"])
}

// parseInPlace says how far a restore in place is: done, undo, waiting, or what keeps it from going on.
func parseInPlace(v *cluster.View, words string) {
	v.Restore.InPlace, v.Restore.KeepFor = "r1", 48*time.Hour
	switch words {
	case "done":
		v.Restore.Done = true
	case "undo":
		v.Restore.Done, v.Restore.Undo = true, true
	case "waiting":
		v.Restore.Progress = "the data of a-3 to be restored: more than 40 %"
	default:
		v.Restore.Problem = words
	}
}

// deny has Kubernetes refuse all that is not as wanted.
func deny(v *cluster.View, denied cluster.Denial) {
	for _, all := range [][]cluster.Object{v.Misfits, v.Objects, v.Expired} {
		for i := range all {
			all[i].Denied = denied
		}
	}
}

func object(t *testing.T, d *datadriven.TestData, key string) []cluster.Object {
	var kind, name string
	if !d.MaybeScanArgs(t, key, &kind, &name) {
		return nil
	}
	return []cluster.Object{{Kind: kind, Name: name}}
}

func parseLine(t *testing.T, w *world, words []string) {
	switch words[0] {
	case "unknown":
		s := cluster.UnknownMember{ID: 0xbad, Name: words[1], PeerURL: "https://" + words[1], Voter: len(words) > 2}
		_, s.Home, _ = strings.Cut(words[len(words)-1], "home=")
		w.view.Unknown = append(w.view.Unknown, s)
	case "source":
		w.view.Unknown = append(w.view.Unknown, parseSource(w, words))
	case "service":
		w.view.Adoption.Services = append(w.view.Adoption.Services, parseService(words))
	case "expired":
		w.view.Expired = append(w.view.Expired, cluster.Object{Kind: "PersistentVolumeClaim", Name: words[1], UID: "volume"})
	case "alarm":
		w.corrupt, _ = strconv.ParseUint(words[2], 16, 64)
		w.view.Alarms = append(w.view.Alarms, cluster.Alarm{Kind: words[1], ID: w.corrupt})
	case "beside":
		m := cluster.Member{Name: words[1], Volume: cluster.Kept, Version: "3.6.16", Started: true}
		if slices.Contains(words[2:], "empty") {
			m.Volume = cluster.NoVolume
		}
		if slices.Contains(words[2:], "refused") {
			m.Pod.Denied = cluster.Denial{Because: "exceeded quota"}
		}
		w.view.Beside = append(w.view.Beside, m)
	case "foreign":
		w.view.Foreign = append(w.view.Foreign, cluster.Object{
			Kind: words[1], Name: words[2], Why: "it belongs to another cluster", Gone: slices.Contains(words[3:], "gone"),
			CanWait: slices.Contains(words[3:], "canwait"),
		})
	case "volume":
		volume := cluster.Volume{Name: words[1]}
		for _, word := range words[2:] {
			key, value, _ := strings.Cut(word, "=")
			switch key {
			case "token":
				volume.Token = value
			case "first":
				volume.First = strings.Split(value, ",")
			case "id":
				volume.ClusterID = value
			case "version":
				volume.Version = value
			case "unused":
				volume.UID, volume.Unused = "volume", true
			default:
				t.Fatalf("unknown word %q of volume %s", word, volume.Name)
			}
		}
		w.view.Volumes = append(w.view.Volumes, volume)
	default:
		parseMember(t, w, words)
	}
}

func parseMember(t *testing.T, w *world, words []string) {
	v := &w.view
	m := w.at(words[0])
	*m = cluster.Member{
		Name: words[0], Recorded: true, Started: true, Volume: cluster.Kept, Role: cluster.Unlisted,
		Pod:     cluster.Pod{Phase: cluster.Running, UID: w.nextUID(), Ready: true, Proven: true, Image: v.Want.Version},
		Answers: true, Healthy: true, Revision: 7, Index: 7, ClusterID: v.Record.ClusterID, Version: v.Want.Version,
	}
	if v.Record.ClusterID == "" {
		v.Record.First = append(v.Record.First, m.Name)
	}
	for _, word := range words[1:] {
		if !describe(w, m, word) {
			t.Fatalf("unknown word %q of member %s", word, m.Name)
		}
	}
	w.fate(m.Name).data = m.Volume == cluster.Kept || m.Volume == cluster.Going && m.Pod.Exists()
}

// parseSpace says what the spec wants of databases and volumes, and measures them.
func parseSpace(d *datadriven.TestData, w *world) {
	s := &w.view.Space
	for _, arg := range d.CmdArgs {
		switch value := strings.Join(arg.Vals, " "); arg.Key {
		case "volumes":
			s.Volume = int64(number(value)) * mib
		case "max-volume":
			s.MaxVolume = int64(number(value)) * mib
		case "off":
			s.Defragments = false
		case "ask":
			w.view.Want.Defragment = value
		case "closed":
			s.InWindow = false
		case "cpu", "memory":
			parseLoad(w, arg)
		case "own-quota":
			s.QuotaGrows = false
		case "backing-up":
			s.BackingUp = value
		}
	}
	s.Given = min(s.Given, s.Volume)
	s.GivenLog = min(s.GivenLog, s.Given/4)
	w.space()
}

// parseLoad is what members have of a resource, what they may have, and what a-0 uses of it, for how long too much: in millicores or MiB.
func parseLoad(w *world, arg datadriven.CmdArg) {
	a, unit := &w.view.Autoscale, int64(1)
	load := &a.CPU
	if arg.Key == "memory" {
		load, unit = &a.Memory, mib
	}
	a.Wanted, a.Resizes, load.Member = true, true, "a-0"
	load.Now, load.Most, load.Used = int64(number(arg.Vals[0]))*unit, int64(number(arg.Vals[1]))*unit, int64(number(arg.Vals[2]))*unit
	load.HighFor, _ = time.ParseDuration(arg.Vals[3])
}

// before is the time so long ago.
func before(word string) int64 {
	ago, _ := time.ParseDuration(word)
	return toyNow - int64(ago.Seconds())
}

func number(word string) int16 {
	n, _ := strconv.ParseInt(word, 10, 16)
	return int16(n)
}

// halt has etcd's container end, and not the Pod.
func halt(p *cluster.Pod) {
	p.Ready = false
	if p.Phase == cluster.Running {
		p.Phase = cluster.Placed
	}
}

func describe(w *world, m *cluster.Member, word string) bool {
	word, value, _ := strings.Cut(word, "=")
	silent := func() { m.Answers, m.Healthy, m.Leader, m.ClusterID, m.Index = false, false, false, "", 0 }
	switch word {
	case "voter":
		m.Role, m.ID = cluster.Voter, uint64(100+cluster.Serial(w.view.Name, m.Name)) //nolint:gosec // a small number
	case "learner":
		m.Role, m.ID = cluster.Learner, uint64(100+cluster.Serial(w.view.Name, m.Name)) //nolint:gosec // a small number
	case "leader":
		m.Leader = true
	case "synced":
		m.Synced = true
	case "down":
		silent()
		halt(&m.Pod)
		w.fate(m.Name).broken = true
	case "answering":
		m.Answers, m.Healthy = true, false
	case "unready":
		m.Pod.Ready = false
	case "notready":
		silent()
		m.Pod.Ready = false
	case "podless":
		silent()
		m.Pod = cluster.Pod{}
		if w.view.Want.Ephemeral {
			m.Volume = cluster.NoVolume
		}
	case "lost":
		silent()
		m.Pod, m.Volume = cluster.Pod{}, cluster.NoVolume
	case "denied":
		m.Denied.Because = "a policy says no"
	case "refused":
		silent()
		m.Pod = cluster.Pod{Denied: cluster.Denial{Because: "exceeded quota"}}
	case "unplaced":
		silent()
		m.Pod.Phase, m.Pod.Ready = cluster.Unplaced, false
	case "no-volume":
		m.Volume = cluster.NoVolume
	case "going":
		m.Volume = cluster.Going
	case "finished":
		silent()
		m.Pod.Phase, m.Pod.Ready = cluster.Finished, false
	case "terminating":
		m.Pod.Deletion = cluster.Terminating
	case "overdue":
		silent()
		m.Pod.Deletion, m.Pod.Overdue = cluster.Terminating, true
	case "ended":
		silent()
		m.Pod.Phase, m.Pod.Deletion, m.Pod.Ready = cluster.Finished, cluster.Ended, false
	case "outdated":
		m.Pod.Change = cluster.Rebuild
		w.fate(m.Name).stale = true
	case "permits":
		m.Pod.PredatesRevocation, m.Pod.Change = true, cluster.Rebuild
		w.fate(m.Name).stale = true
	case "swap":
		m.Pod.Change, m.Pod.Image, m.Version = cluster.Swap, "3.6.11", "3.6.11"
	case "resize":
		m.Pod.Change = cluster.Resize
	case "resizing":
		m.Pod.Resizing = strings.ReplaceAll(value, "_", " ")
	case "version":
		m.Pod.Image, m.Version = value, value
	case "settling":
		m.Pod.Settling = true
	case "detached":
		m.Pod.Clients = cluster.Leaving
	case "misled":
		silent()
		halt(&m.Pod)
		m.Pod.Failing, m.Pod.StalePeerList = true, true
	case "refuses-reconfig":
		m.RefusesReconfig = true
	case "deaf":
		w.fate(m.Name).deaf = true
	case "cramped":
		m.Pod.QuotaBelowDBSize = true
	case "no-place":
		m.Pod.Cramped = m.Name + " cannot have it where it runs: its node never has room"
	case "killed":
		m.Pod.OOMKilled = before(value)
	case "forms":
		m.Pod.Entry = cluster.Forms
	case "joins":
		m.Pod.Entry = cluster.Joins
	case "ends":
		m.Pod.Entry = cluster.Ends
	case "unchecked":
		m.Pod.Unchecked = true
	case "shaky":
		m.Pod.RecentlyRestarted = true
	case "labels-missing":
		silent()
		m.Pod.LabelsMissing = true
	case "lingers":
		m.Pod.Lingers = true
	case "clients-gone":
		m.Pod.Clients = cluster.Gone
	case "made":
		m.Pod.Made, _ = strconv.ParseInt(value, 10, 64)
	case "cordoned":
		m.Pod.Cordoned = true
	case "failing":
		m.Pod.Failing = true
	case "forced":
		m.Pod.Forced = true
	case "damaged":
		silent()
		halt(&m.Pod)
		m.Damage, w.fate(m.Name).damaged = "its data is damaged", true
	case "stranded":
		silent()
		m.Pod.Ready, m.Pod.Silent = false, "n1"
		m.NodeUnreachable, w.fate(m.Name).silent = "its node is silent", true
	case "unreachable":
		silent()
		m.Pod.Ready, m.Pod.Silent, w.fate(m.Name).unreachable = false, "n1", true
	case "node-gone":
		silent()
		m.Pod.Phase, m.Pod.Ready = cluster.Unplaced, false
		m.NodeGone, w.fate(m.Name).nodeGone = "its volume is on node n1, which no longer exists", true
	case "serves":
		w.fate(m.Name).serves = map[string]way{"http": plain, "both": both, "https": secure}[value]
	case "free":
		w.fate(m.Name).free = number(value)
	case "used":
		w.fate(m.Name).used = number(value)
	case "volume":
		w.fate(m.Name).volume = number(value)
	case "hourly":
		m.HourlyGrowth = int64(number(value)) * mib
	case "defragmented", "failed":
		m.Defragmented = cluster.Defragmented{At: before(value), Failed: word == "failed", Request: "earlier"}
	case "due", "held-up":
		m.HeldUp = word == "held-up"
		w.view.Record.Defragmenting = cluster.Defragmenting{Member: m.Name, Pod: m.Pod.UID, Size: 800 << 20}
	case "again":
		m.Pod.DefragmentsAgain, w.fate(m.Name).armed = true, true
	case "undefragmented":
		m.Pod.Defragments = true
		w.view.Record.Defragmenting = cluster.Defragmenting{Member: m.Name, Size: (toyUsed + toyFree) * mib}
		w.fate(m.Name).free, w.fate(m.Name).inVain = toyFree, true
	case "defragments":
		m.Pod.Defragments = true
		w.view.Record.Defragmenting = cluster.Defragmenting{Member: m.Name, Size: 800 << 20}
	case "odd":
		w.fate(m.Name).odd, m.HashMismatch = true, true
	case "corrupt":
		w.corrupt = m.ID
		w.view.Alarms = []cluster.Alarm{{Kind: cluster.Corrupt, ID: m.ID, Member: m.Name}}
	case "unsigned":
		m.Unsigned = true
	case "slow":
		m.Sluggish = true
		w.view.Anomalies = append(w.view.Anomalies, cluster.Anomaly{
			Member: m.Name, Signal: "fsync", Value: 0.4, Usual: 0.002, Since: time.Unix(before(value), 0),
		})
	case "replaced":
		w.view.Record.Replacing = cluster.Replacing{Member: m.Name, Why: "it is slow", Since: before(value)}
	case "exchange":
		m.Exchange = `its volume has the storage class "slow", and "fast" is wanted`
	case "asked":
		m.Exchange, m.Asked = "the annotation etcd-operator.dev/replace-members names it", true
	case "behind":
		m.Behind = 1000
	case "index":
		n, _ := strconv.Atoi(value)
		m.Index, m.Revision = uint64(n), int64(n) //nolint:gosec // a small number
	case "lists":
		m.Lists, _ = strconv.Atoi(value)
	case "confirms":
		n, _ := strconv.Atoi(value)
		m.Confirmed = int64(n)
	case "applied":
		n, _ := strconv.Atoi(value)
		m.Revision = int64(n)
	case "replies":
		m.Answers, m.Healthy, m.Pod.Phase, m.Pod.Ready = true, true, cluster.Running, true
	case "new":
		m.Started = false
	case "unproven":
		m.Pod.Proven = false
	case "chosen", "aside":
		silent()
		m.Chosen, m.SetAside, m.Recorded, m.Started, m.Pod = true, word == "aside", false, false, cluster.Pod{}
	case "served": // of one that is chosen: it has served beside the others, or has not come so far
		m.Pod = besidePod(w)
	case "waits":
		m.Pod = cluster.Pod{Phase: cluster.Unplaced, UID: w.nextUID(), Image: "3.6.16", Clients: cluster.Gone, Unchecked: true}
	case "curable":
		w.fate(m.Name).cured = true
	case "unused", "unfit":
		m.Unused, w.fate(m.Name).unfit = true, word == "unfit"
	case "fresh":
		silent()
		m.Started, m.Pod, m.Volume = false, cluster.Pod{}, cluster.NoVolume
	case "unrecorded":
		m.Recorded = false
	case "elsewhere":
		if w.view.Record.ClusterID != "" {
			silent()
			m.Foreign, w.fate(m.Name).foreign = "its data is of cluster "+value, true
		}
		m.ClusterID = value
	case "trouble":
		m.Pod.Trouble = strings.ReplaceAll(value, "_", " ")
	default:
		return false
	}
	return true
}
