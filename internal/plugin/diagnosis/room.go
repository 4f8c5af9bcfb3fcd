package diagnosis

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Shares of the quota, in per cent: from fills on it is a problem (the alert EtcdQuotaFills), from half on worth a look.
const (
	half  = 50
	fills = 75
)

// room compares databases with their quota. The status has each size rounded up to a power of two: the database takes more than half of
// that, and at most all of it.
func room(f Facts) []Finding {
	quota := f.Cluster.QuotaBytes()
	var largest v1beta1.MemberStatus
	for _, m := range f.Cluster.Status.Members {
		if m.DBSize != nil && (largest.DBSize == nil || m.DBSize.Cmp(*largest.DBSize) > 0) {
			largest = m
		}
	}
	if largest.DBSize == nil || quota == 0 {
		return nil
	}
	size := largest.DBSize.Value()
	least := size / 2 * 100 / quota
	what := fmt.Sprintf("the database of %s takes more than %d %% of its quota: between %s and %s of %s", largest.Name, least,
		v1beta1.SizeOf(size/2), v1beta1.SizeOf(min(size, quota)), v1beta1.SizeOf(quota))
	var findings []Finding
	switch {
	case least >= fills:
		findings = one(WillBeAProblem, what, "delete keys, raise etcd.quota and storage.size, or set storage.autoGrow",
			"runbooks/EtcdQuotaFills.md")
	case least >= half:
		findings = one(Hint, what, "see the exact size in the metric etcd_operator_member_database_size_bytes", "operations/space.md")
	}
	return append(findings, grown(f)...)
}

// grown says that volumes that grow by themselves have come to their end.
func grown(f Facts) []Finding {
	grow, have := f.Cluster.Spec.Storage.AutoGrow, f.Cluster.VolumeSize()
	if grow == nil || have.Cmp(grow.MaxSize) < 0 {
		return nil
	}
	return one(WillBeAProblem, fmt.Sprintf("volumes have %s and grow no further: storage.autoGrow.maxSize is %s", text(have),
		text(grow.MaxSize)),
		"raise storage.autoGrow.maxSize, or see who writes so much", "operations/space.md#volumes-that-grow")
}

// computing says that members need more of a processor or of memory than they can have.
func computing(f Facts) []Finding {
	const page = "operations/scale.md#more-processor-and-memory-by-use"
	if s := f.Cluster.Status.Autoscale; s != nil && s.Refused != "" && f.Cluster.Spec.Autoscale != nil {
		return one(WillBeAProblem, fmt.Sprintf("members could not be given more %s ago: %s", age(f.Now.Sub(s.Since.Time)), s.Refused),
			"make room on nodes or in the quota, or lower autoscale.max", page)
	}
	for _, of := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if is := f.Cluster.Computing(of); is.Most > is.Least && is.Now == is.Most {
			most := v1beta1.QuantityOf(of, is.Most)
			return one(Hint, fmt.Sprintf("members have as much %s as autoscale.max allows: %s", of, text(most)),
				"raise autoscale.max, or see what they are asked for", page)
		}
	}
	return nil
}

func text(q resource.Quantity) string { return q.String() }

// authorityEnds is how long before its end an authority is a problem: the alert EtcdAuthorityEnds.
const authorityEnds = 14 * 24 * time.Hour

// authorities are those that end soon, and with them all that they have signed.
func authorities(f Facts) []Finding {
	var findings []Finding
	for _, a := range f.Cluster.Status.Authorities {
		if a.NotAfter.IsZero() {
			continue
		}
		left := a.NotAfter.Sub(f.Now)
		of := fmt.Sprintf("the authority for %ss in Secret %s", a.Name, a.Secret)
		switch {
		case left <= 0:
			findings = append(findings, Finding{
				ServiceDown, of + " has ended " + age(-left) + " ago: nobody that it has signed is accepted", "replace it as the page says",
				"operations/certificates.md#an-authority-that-has-ended",
			})
		case left <= authorityEnds:
			findings = append(findings, Finding{
				WillBeAProblem, of + " ends in " + age(left), "see why it is not rotated, or issue an external one again",
				"runbooks/EtcdAuthorityEnds.md",
			})
		}
	}
	return findings
}
