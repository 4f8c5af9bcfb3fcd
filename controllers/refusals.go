package controllers

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/plan"
)

// askAgain is how long something is left alone after Kubernetes, or a webhook in it, has
// refused it.
const askAgain = 30 * time.Second

// startAgain is the same for a member's Pod, and for a Secret that one may mount: nobody else
// can bring that member back. It is twice as long each time, up to askAgain.
const startAgain = 5 * time.Second

const (
	// applyAgain is how long something is left alone that was written, and is not so although
	// Kubernetes took it; twice as long each time.
	applyAgain = 10 * time.Second
	// applyRarely is the longest such pause.
	applyRarely = 5 * time.Minute
	// applyOver is for how long after a pause the next time counts as another in a row.
	applyOver = 2 * time.Minute
	// applyEasily is how often in a row something is applied again at once that was seen to hold in
	// between: people edit more than once, and only a controller goes on for ever.
	applyEasily = 10
)

// errRefused takes the place of a refusal that was noted: the next look goes on without
// what was refused, and says so.
var errRefused = errors.New("kubernetes refuses it, and the rest goes on")

// refusals are what Kubernetes has refused to this process a moment ago, or took and somebody
// has changed back, so that nothing else waits for it. Another process asks for itself.
type refusals struct {
	mutex sync.Mutex
	known map[types.NamespacedName]map[string]refusal
}

type refusal struct {
	at    time.Time
	again time.Duration // after which it is asked for again
	of    wish          // whoever changes that is heard at once
	words string        // cluster.ChangedBack if it was not refused
	tries int           // in a row
	times int           // in a row, those included after which it was seen to hold
	held  bool          // it was seen to be as it was written
	why   string        // the object was written; it says what was wanted
	mark  marking       // that was written on a Pod
}

// A marking is what was written on a Pod; empty of what was written on a volume.
type marking struct {
	uid string
	as  plan.Mark
}

// A wish is the spec of one EtcdCluster: another one of its name may follow it.
type wish struct {
	uid        types.UID
	generation int64
}

func wishOf(c *v1alpha1.EtcdCluster) wish { return wish{c.UID, c.Generation} }

// note remembers what the step asked for if Kubernetes refuses it, and that it was done if not.
// The error is returned as it is if it is no refusal, or if nothing new is known by it.
func (r *refusals) note(c *v1alpha1.EtcdCluster, step plan.Step, err error, now time.Time) error {
	words, refused := refusedIn(err)
	if err != nil && !refused {
		return err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	name := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	if r.known == nil {
		r.known = map[types.NamespacedName]map[string]refusal{}
	}
	if r.known[name] == nil {
		r.known[name] = map[string]refusal{}
	}
	if !refused {
		noteDone(r.known[name], c, step, now)
		return nil
	}
	for _, object := range asked(c, step) {
		was := r.known[name][object.String()]
		if was.words != cluster.ChangedBack && was.said(now) != "" {
			continue
		}
		is := refusal{at: now, of: wishOf(c), words: words}.after(was)
		is.again = pauseOf(step, object, is.tries)
		r.known[name][object.String()] = is
		err = errRefused
	}
	return err
}

func pauseOf(step plan.Step, object cluster.Object, tries int) time.Duration {
	if _, starts := step.(plan.CreatePods); starts || object.Kind == "Secret" {
		return min(startAgain<<min(tries-1, 8), askAgain)
	}
	return askAgain
}

// after is the refusal as the next one in a row, if both are of the same.
func (r refusal) after(was refusal) refusal {
	isUndone := func(of refusal) bool { return of.words == cluster.ChangedBack }
	if was.of != r.of || was.why != r.why || was.mark != r.mark || isUndone(was) != isUndone(r) {
		was = refusal{}
	}
	r.times = was.times + 1
	if was.holds() {
		was.tries = 0
	}
	r.tries = was.tries + 1
	return r
}

// holds says whether what was written is taken to have been undone only since.
func (r refusal) holds() bool { return r.held && r.times < applyEasily }

// noteDone remembers what was written: if the same is to be written again soon, it was in vain.
func noteDone(known map[string]refusal, c *v1alpha1.EtcdCluster, step plan.Step, now time.Time) {
	for _, member := range stopped(step) {
		delete(known, changeOf(member).String()) // it is withdrawn by that, or gone
	}
	for _, object := range written(step) {
		is := refusal{at: now, of: wishOf(c), words: cluster.ChangedBack, why: object.Why}
		if s, marks := step.(plan.MarkPods); marks {
			is.mark = marking{s.Pods[0].UID, s.As}
		}
		is = is.after(known[object.String()])
		is.again = min(applyAgain<<min(is.tries-1, 8), applyRarely)
		known[object.String()] = is
	}
}

// written are the objects that the step has written and that the next look shows.
func written(step plan.Step) []cluster.Object {
	if s, is := step.(plan.Apply); is {
		return s.Objects
	}
	if s, is := step.(plan.Quarantine); is {
		return []cluster.Object{changeOf(s.Name)}
	}
	if s, is := step.(plan.MarkPods); is && s.As != plan.Seal {
		return []cluster.Object{changeOf(s.Pods[0].Name)}
	}
	return nil
}

// refusedIn are the words with which Kubernetes refuses something, if it does, be it because
// somebody else has that name. An API server that is overloaded, or that somebody else was
// faster at, refuses nothing. One that fails by itself may do so because a webhook does not
// answer.
func refusedIn(err error) (words string, refused bool) {
	if errors.Is(err, act.ErrTaken) {
		return err.Error(), true
	}
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return "", false
	}
	status := answer.Status()
	switch status.Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return status.Message, true
	default:
		return "", false
	}
}

// asked are the objects that a step asks Kubernetes for and that the plan can do without. It
// cannot do without a first member, nor form a cluster anew beside volumes that are not set aside.
func asked(c *v1alpha1.EtcdCluster, step plan.Step) []cluster.Object {
	switch s := step.(type) {
	case plan.CreatePods:
		if c.Status.ClusterID != "" && !s.Forced {
			return each(s.Names, startOf)
		}
	case plan.Apply:
		return s.Objects
	case plan.DeleteVolume:
		return []cluster.Object{{Kind: "PersistentVolumeClaim", Name: s.Name}}
	case plan.Quarantine:
		if c.Status.Recovering == "" {
			return []cluster.Object{changeOf(s.Name)}
		}
	case plan.MarkPods:
		return each(namesOf(s.Pods), changeOf)
	case plan.DeletePods:
		if s.How == plan.AtOnce {
			return each(namesOf(s.Pods), podOf)
		}
	}
	return nil
}

func each(members []string, object func(string) cluster.Object) []cluster.Object {
	all := make([]cluster.Object, 0, len(members))
	for _, name := range members {
		all = append(all, object(name))
	}
	return all
}

func podOf(member string) cluster.Object { return cluster.Object{Kind: "Pod", Name: member} }

func startOf(member string) cluster.Object {
	return cluster.Object{Kind: "Pod", Name: member, Part: "start"}
}

// change is of a member's Pod or volume what the operator writes on it.
const change cluster.Part = "change"

func changeOf(member string) cluster.Object {
	return cluster.Object{Kind: "Pod", Name: member, Part: change}
}

// mark says of objects in the view that they were just refused, or changed back. What was
// refused too long ago, or when something else was wanted, is forgotten. A Pod that may not be
// cleared away is one that has yet to end: its kubelet will see to it.
func (r *refusals) mark(c *v1alpha1.EtcdCluster, v cluster.View, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	known := r.known[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}]
	for object, is := range known {
		if is.of != wishOf(c) || now.Sub(is.at) >= is.again+applyOver {
			delete(known, object)
		}
	}
	noteHeld(known, slices.Concat(v.Misfits, v.Objects, v.Expired))
	for _, all := range [][]cluster.Object{v.Misfits, v.Objects, v.Expired} {
		for i := range all {
			if is := known[all[i].String()]; is.words != cluster.ChangedBack || is.why == all[i].Why && !is.holds() {
				all[i].Refused = is.said(now)
			}
		}
	}
	for i := range v.Members {
		markMember(known, &v.Members[i], now)
	}
}

// noteHeld remembers of what is not among the misfits that it was seen to be as it was written.
func noteHeld(known map[string]refusal, misfits []cluster.Object) {
	left := map[string]bool{}
	for _, o := range misfits {
		left[o.String()] = true
	}
	for object, is := range known {
		is.held = is.held || is.words == cluster.ChangedBack && !left[object]
		known[object] = is
	}
}

func markMember(known map[string]refusal, m *cluster.Member, now time.Time) {
	if known[podOf(m.Name).String()].said(now) != "" {
		m.Pod.Ended = false
	}
	if is := known[changeOf(m.Name).String()]; is.words != cluster.ChangedBack || isUndone(*m, is.mark) {
		m.Fixed = is.said(now)
	}
	if start := known[startOf(m.Name).String()]; !m.Pod.Exists {
		m.Pod.Refused = start.said(now)
	}
}

// said is what is in the way for now.
func (r refusal) said(now time.Time) string {
	if now.Sub(r.at) >= r.again {
		return ""
	}
	return r.words
}

// isUndone says whether a member's Pod is not as it was marked, or its volume is not set aside.
func isUndone(m cluster.Member, mark marking) bool {
	switch {
	case mark == marking{}:
		return m.Volume == cluster.Kept
	case mark.uid != m.Pod.UID:
		return false
	case mark.as == plan.Attach:
		return m.Pod.Withdrawn || m.Pod.Astray
	default:
		return !m.Pod.Withdrawn
	}
}

func (r *refusals) forget(name types.NamespacedName) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.known, name)
}
