// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Offered is what accepts the loss of going back to the backup of the view: empty if there is none, or if a person has to do something
// else first. It does not depend on what survivors report, so that one that never answers does not hold it back.
func Offered(v cluster.View, loss QuorumLoss) string {
	o := v.Candidate
	if o.Backup == "" || o.Problem != "" || v.Restore.InPlace != "" || len(loss.deletedVolumes()) > 0 {
		return ""
	}
	if survivor, _ := v.Member(v.Record.Recovering); v.Record.Recovering != "" && !cluster.IsBeyondRepair(survivor) {
		return "" // that one was accepted
	}
	return o.String()
}

// Behind is how many revisions the cluster is known to have had after that of the backup, and whether that is known: if the backup is
// newer than all that is left, it is not known what came after it.
func Behind(v cluster.View, loss QuorumLoss) (lost int64, known bool) {
	highest := v.Record.Revision
	for _, m := range loss.Survivors {
		highest = max(highest, m.Revision)
	}
	return highest - v.Candidate.Revision, highest > 0 && highest >= v.Candidate.Revision
}

// backToBackup has the cluster brought back to the backup by an EtcdRestore, once a person has accepted the loss by its name. What
// has begun goes on although a newer backup is offered by now.
func backToBackup(v cluster.View, loss QuorumLoss) Step {
	o, r := v.Candidate, v.Candidate.Request
	wait := Wait{For: fmt.Sprintf("EtcdRestore %s to bring the cluster back to the backup that was accepted", r.Name)}
	if r.Fills {
		return wait
	}
	if accept := Offered(v, loss); accept == "" || accept != v.Want.Accepted {
		return nil
	}
	switch {
	case !r.Exists:
		return CreateRestore{Name: r.Name, Backup: o.Backup, Accepted: v.Want.Accepted}
	case r.Foreign:
		return refuse(fmt.Sprintf("EtcdRestore %s is in the way: the operator needs its name to bring the cluster back to EtcdBackup %s; "+
			"delete it", r.Name, o.Backup))
	case r.Ended:
		return refuse(fmt.Sprintf("EtcdRestore %s was undone; delete it to have the cluster brought back to EtcdBackup %s once more",
			r.Name, o.Backup))
	case r.Message != "":
		wait.For += ": " + r.Message
	}
	return wait
}

// orBackup says what the backup would cost, and what accepts that; something else if there is none.
func orBackup(v cluster.View, loss QuorumLoss, without string) string {
	o := v.Candidate
	if o.Backup == "" {
		return without
	}
	lost, known := Behind(v, loss)
	cost := "writes after it"
	if known {
		cost = fmt.Sprintf("%d revisions after it", lost)
	}
	has := fmt.Sprintf("; EtcdBackup %s is the newest verified backup, of revision %d at %s, and %s would be lost; ", o.Backup, o.Revision,
		time.Unix(o.Begun, 0).UTC().Format(time.RFC3339), cost)
	switch {
	case o.Encrypted:
		return has + "it is encrypted: to go back to it create an EtcdRestore with spec.decryption"
	case o.Problem != "":
		return has + o.Problem
	}
	return has + fmt.Sprintf("to go back to it set spec.recovery.acceptDataLoss to %q", o)
}

// another says that what was accepted is not what can be accepted now: an old answer approves nothing.
func another(v cluster.View) string {
	if v.Want.Accepted == "" {
		return ""
	}
	return fmt.Sprintf("; spec.recovery.acceptDataLoss is %q, which is not offered", v.Want.Accepted)
}
