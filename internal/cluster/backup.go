package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxBackupName is what fits into the value of a label.
const maxBackupName = 63

// BackupName is the name of a backup that the operator makes of a cluster: that of the cluster, shortened if it has to be, and what
// tells it from others.
func BackupName(cluster, suffix string) string {
	if name := cluster + "-" + suffix; len(name) <= maxBackupName {
		return name
	}
	sum := sha256.Sum256([]byte(cluster))
	suffix = hex.EncodeToString(sum[:3]) + "-" + suffix
	return strings.TrimRight(cluster[:maxBackupName-1-len(suffix)], "-") + "-" + suffix
}
