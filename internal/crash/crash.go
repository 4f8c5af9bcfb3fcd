package crash

type Cause int

const (
	Unknown Cause = iota
	OutOfMemory
	DiskFull
	Corrupt
	Empty
	Foreign
	Removed
	Misconfigured
)

func Why(code int32, reason, message string) Cause { return Unknown }
