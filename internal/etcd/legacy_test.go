package etcd_test

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestOldEntries: a leader of 3.6 gives a new member of 3.7 what it has in its log of 3.5, on
// which that panics. Not so if it has written a snapshot since, which a snapshot count of 1
// makes it do.
func TestOldEntries(t *testing.T) {
	for count, joins := range map[string]bool{"10000": false, "1": true} {
		t.Run(count, func(t *testing.T) {
			ofVersions(t, process.Versions[2:], func(t *testing.T, newest string) {
				c := process.Run(t, process.Versions[0], 1)
				c.Member("m1").Terminate()
				c.Member("m1").Start(process.Versions[1], append(c.Joins("existing", "m1"), "--snapshot-count="+count)...)
				c.Serves("m1")
				eventually(t, "m1 to be of its own version", func() error { return isOfItsVersion(t, c.Client("m1")) })
				added := c.Add("m2")
				var learner etcd.Member
				eventuallyReady(t, "m2 to be added", func() (err error) {
					learner, err = c.Client("m1").AddLearner(t.Context(), c.PeerURL("m2"))
					return err
				})
				added.Start(newest, c.Joins("existing", "m1", "m2")...)
				if joins {
					eventuallyReady(t, "m2 to be promoted", func() error { return c.Client("m1").Promote(t.Context(), learner.ID) })
					c.Serves("m2")
					return
				}
				if exitCode, log := added.Ended(), added.Log(); !strings.Contains(log, "unmarshal should never fail") {
					t.Errorf("it ended with %d after\n%s", exitCode, log)
				}
			})
		})
	}
}
