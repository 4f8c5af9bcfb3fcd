package memory

import (
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/scale"
)

// usage is what members have used, and what Kubernetes has refused to give them.
type usage struct {
	watch   scale.Watch
	refused string
	size    cluster.Computing // what was refused
}

// Scale adds a look at what members use, if there is one, and says what they are to have.
func (m *Cluster) Scale(look scale.Look) cluster.Scaling {
	if len(look.Usages) == 0 {
		return cluster.Scaling{}
	}
	return m.usage.watch.Add(look)
}

// ResizeRefused says why Kubernetes refuses a Pod what it is given beyond the spec; empty if it does not. Once members are to have another
// size that is forgotten: the same size may be granted the next time.
func (m *Cluster) ResizeRefused(v cluster.View) string {
	if m.usage.size != v.Record.Scaled.Computing {
		m.usage.refused = ""
	}
	return m.usage.refused
}

func (u *usage) note(v cluster.View, step plan.Step, e Ending) {
	if resize, is := step.(plan.ResizePod); is && e.Denied != "" {
		u.refused = fmt.Sprintf("Kubernetes refuses to resize pod %s: %s", resize.Name, e.Denied)
		u.size = v.Record.Scaled.Computing
	}
}
