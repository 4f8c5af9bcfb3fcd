package v1alpha1

// Reasons of ConditionReady of an EtcdBackupStore. While the store itself is the reason, it is the kind of its answer.
const (
	// ReasonUsable: the last look found that the store can be listed, written and read.
	ReasonUsable = "Usable"
	// ReasonFirstCheck: the store is looked at for the first time since its spec changed.
	ReasonFirstCheck = "FirstCheck"
	// ReasonCheckBlocked: the Job that looks at the store does not run; the message quotes Kubernetes.
	ReasonCheckBlocked = "CheckBlocked"
	// ReasonCheckFailed: that Job ended without saying why.
	ReasonCheckFailed = "CheckFailed"
	// ReasonNoImage: the operator does not know its own image, which Jobs run.
	ReasonNoImage = "NoImage"
	// ReasonStoreUnreachable: no connection.
	ReasonStoreUnreachable = "Unreachable"
	// ReasonStoreForbidden: the keys are wrong, or lack a right.
	ReasonStoreForbidden = "Forbidden"
)
