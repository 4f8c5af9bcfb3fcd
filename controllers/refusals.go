package controllers

import (
	"errors"
	"net/http"
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

// startAgain is the same for a member's Pod: nobody else can bring that member back.
const startAgain = 5 * time.Second

// errRefused takes the place of a refusal that was noted: the next look goes on without
// what was refused, and says so.
var errRefused = errors.New("kubernetes refuses it, and the rest goes on")

// refusals are what Kubernetes has refused to this process a moment ago, so that nothing
// else waits for it. Another process asks for itself.
type refusals struct {
	mutex sync.Mutex
	known map[types.NamespacedName]map[string]refusal
}

type refusal struct {
	at         time.Time
	again      time.Duration // after which it is asked for again
	generation int64         // of the EtcdCluster: whoever changes that is heard at once
	words      string
}

// note remembers what the step asked for if Kubernetes refuses it. The error is returned
// as it is if it is no refusal, or if nothing new is known by it.
func (r *refusals) note(c *v1alpha1.EtcdCluster, step plan.Step, err error, now time.Time) error {
	words, refused := refusedIn(err)
	if !refused {
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
	again := askAgain
	if _, starts := step.(plan.Start); starts {
		again = startAgain
	}
	for _, object := range asked(c, step) {
		if _, known := r.known[name][object.String()]; !known {
			r.known[name][object.String()] = refusal{at: now, again: again, generation: c.Generation, words: words}
			err = errRefused
		}
	}
	return err
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
	if s, is := step.(plan.Start); is && c.Status.ClusterID != "" {
		pods := make([]cluster.Object, 0, len(s.Names))
		for _, name := range s.Names {
			pods = append(pods, startOf(name))
		}
		return pods
	}
	if s, is := step.(plan.Furnish); is {
		return s.Objects
	}
	if s, is := step.(plan.Discard); is {
		return []cluster.Object{{Kind: "PersistentVolumeClaim", Name: s.Name}}
	}
	if s, is := step.(plan.Quarantine); is && c.Status.Recovering == "" {
		return []cluster.Object{changeOf(s.Name)}
	}
	if s, is := step.(plan.Readmit); is {
		return []cluster.Object{changeOf(s.Name)}
	}
	s, _ := step.(plan.Clear)
	pods := make([]cluster.Object, 0, len(s.Pods))
	for _, pod := range s.Pods {
		pods = append(pods, podOf(pod.Name))
	}
	return pods
}

func podOf(member string) cluster.Object { return cluster.Object{Kind: "Pod", Name: member} }

func startOf(member string) cluster.Object {
	return cluster.Object{Kind: "Pod", Name: member, Part: "start"}
}

func changeOf(member string) cluster.Object {
	return cluster.Object{Kind: "Pod", Name: member, Part: "change"}
}

// mark says of objects in the view that they were just refused. What was refused too long
// ago, or when something else was wanted, is forgotten. A Pod that may not be cleared away is
// one that has yet to end: its kubelet will see to it.
func (r *refusals) mark(c *v1alpha1.EtcdCluster, v cluster.View, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	known := r.known[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}]
	for object, is := range known {
		if now.Sub(is.at) >= is.again || is.generation != c.Generation {
			delete(known, object)
		}
	}
	for _, all := range [][]cluster.Object{v.Misfits, v.Objects, v.Expired} {
		for i := range all {
			all[i].Refused = known[all[i].String()].words
		}
	}
	for i := range v.Members {
		if _, refused := known[podOf(v.Members[i].Name).String()]; refused {
			v.Members[i].Pod.Ended = false
		}
		v.Members[i].Fixed = known[changeOf(v.Members[i].Name).String()].words
		if start := known[startOf(v.Members[i].Name).String()]; !v.Members[i].Pod.Exists {
			v.Members[i].Pod.Refused = start.words
		}
	}
}

func (r *refusals) forget(name types.NamespacedName) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.known, name)
}
