package backup

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// PolicyTable is the policy as docs/reference/backup-rules.md has it.
func PolicyTable() string {
	var text strings.Builder
	text.WriteString("\n| rule | what it does |\n|---|---|\n")
	for _, r := range policy {
		fmt.Fprintf(&text, "| %s | %s |\n", r.name, r.does)
	}
	return text.String()
}

// RuleNames are the names of all rules, in their order.
func RuleNames() []string {
	var names []string
	for _, r := range policy {
		names = append(names, r.name)
	}
	return names
}

// Size and Scratch are sizes for people, and for trials.
func Size(bytes int64) string { return v1alpha1.SizeOf(bytes).String() }

// Scratch is the room of a trial.
func Scratch(s v1alpha1.EtcdBackupStatus) resource.Quantity { return scratch(s) }
