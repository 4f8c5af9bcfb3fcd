package host

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// wanted are the kernel settings that the cluster needs; a larger number is
// left alone.
var wanted = map[string]string{
	"net/ipv4/ip_forward":                "1",
	"net/bridge/bridge-nf-call-iptables": "1",
	"fs/inotify/max_user_instances":      "8192",
	"fs/inotify/max_user_watches":        "524288",
}

// Tune sets kernel settings and notes what they were in the file. What a
// kernel does not have is left to those who need it to say so.
func Tune(file string) error {
	// A kernel with built-in modules needs none of this.
	_ = exec.Command("modprobe", "-a", "overlay", "br_netfilter", "nf_tables", "loop", "xfs").Run()
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	before := map[string]string{}
	for name, value := range wanted {
		raw, err := os.ReadFile(filepath.Join("/proc/sys", name))
		now := strings.TrimSpace(string(raw))
		if err != nil || now == value || len(now) > len(value) {
			continue
		}
		if os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o644) == nil {
			before[name] = now
		}
	}
	raw, err := json.Marshal(before)
	if err != nil {
		return err
	}
	return os.WriteFile(file, raw, 0o644)
}

// Untune gives kernel settings their noted values back.
func Untune(file string) error {
	raw, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	before := map[string]string{}
	if err := json.Unmarshal(raw, &before); err != nil {
		return err
	}
	for name, value := range before {
		_ = os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o644)
	}
	return os.Remove(file)
}
