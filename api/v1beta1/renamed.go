// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// renamed are the reasons that had another name up to 0.7: an operator of that release may have written the status.
var renamed = map[string]string{
	"AsWanted": ReasonUpToDate, "NoFault": ReasonAsExpected, "NeedsHelp": ReasonActionRequired, "NothingToWaitFor": ReasonIdle,
	"InPlace": ReasonSynced, "ClusterPlain": ReasonTLSDisabled, "ClusterAwaited": ReasonWaitingForCluster,
	"TrialAhead": ReasonVerificationPending, "OrderNotClear": ReasonJobUnsupportedJobSpec, "Skewed": ReasonStoreClockSkew,
}

// CurrentReason is the reason of a condition by its name of today.
func CurrentReason(reason string) string {
	if now, was := renamed[reason]; was {
		return now
	}
	return reason
}
