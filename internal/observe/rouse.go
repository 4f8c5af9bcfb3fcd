package observe

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// rousePause is between two entries that wake the members of one cluster.
const rousePause = 500 * time.Millisecond

// A rouser remembers when it last woke the members of each cluster.
type rouser struct {
	mutex sync.Mutex
	last  map[types.UID]time.Time
}

// isDue says whether it may again.
func (r *rouser) isDue(of types.UID, now time.Time) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if now.Sub(r.last[of]) < rousePause {
		return false
	}
	if r.last == nil {
		r.last = map[types.UID]time.Time{}
	}
	r.last[of] = now
	return true
}

func (r *rouser) forget(of types.UID) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.last, of)
}

// rouse has the leader write an entry to the log while a member runs and does not answer:
// that is what the member may be waiting for. After a snapshot etcd takes its log for unapplied until
// an entry follows (etcdserver/server.go: setAppliedIndex is called for entries alone).
// Until then, with more than 5000 entries behind it, it refuses as one request too many
// the proposal by which a member tells its name, again and again, and opens its port
// for clients only after that. In a cluster that nobody writes to no entry comes.
func (o *Observer) rouse(ctx context.Context, c *v1alpha1.EtcdCluster, answers []*answer, leader uint64, members *join) {
	var awake *answer
	silent := false
	for _, a := range answers {
		switch {
		case a.err == nil && a.status.MemberID == leader:
			awake = a
		case a.err != nil && cluster.IsListed(*members.member(a.name)):
			silent = true
		}
	}
	if !silent || awake == nil {
		o.rouser.forget(c.UID)
		return
	}
	if o.rouser.isDue(c.UID, o.Now()) {
		ctx, cancel := context.WithTimeout(ctx, statusTimeout)
		defer cancel()
		_ = awake.client.WriteEntry(ctx) // the next look tells whether it helped
	}
}
