package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/progress"
)

// Builder compiles components into a cache.
type Builder struct {
	// Sources is the folder of the nested modules.
	Sources string
	// Cache is the folder of the built programs.
	Cache string
	Out   *progress.Printer
}

// Cache is the user's folder for built programs.
func Cache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: set HOME or XDG_CACHE_HOME (%w)", err)
	}
	return filepath.Join(dir, "etcd-operator", "devcluster"), nil
}

// Dir is where a component's programs are: the name holds everything that
// makes one build differ from another.
func (b Builder) Dir(c Component) (string, error) {
	compiler, err := compiler()
	if err != nil {
		return "", err
	}
	sources, err := b.sources(c)
	if err != nil {
		return "", err
	}
	return filepath.Join(b.Cache, key(c, compiler, sources)), nil
}

func key(c Component, compiler string, sources []byte) string {
	sum := sha256.New()
	fmt.Fprintln(sum, c.Name, c.Version, c.Target, c.Tags, c.Ldflags, c.Cgo, c.Links, c.Rename, c.Keep, compiler)
	sum.Write(sources)
	return fmt.Sprintf("%s-%s-%s", c.Name, c.Version, hex.EncodeToString(sum.Sum(nil))[:12])
}

func (b Builder) sources(c Component) ([]byte, error) {
	var all []byte
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		raw, err := os.ReadFile(filepath.Join(b.Sources, c.Name, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		all = append(all, raw...)
	}
	return all, nil
}

func compiler() (string, error) {
	out, err := exec.Command("go", "env", "GOVERSION", "GOOS", "GOARCH").Output()
	if err != nil {
		return "", fmt.Errorf("ask go for its version: %w", err)
	}
	return strings.Join(strings.Fields(string(out)), " "), nil
}

// Ensure builds what the cache lacks, one at a time: each build uses every
// core by itself.
func (b Builder) Ensure(ctx context.Context, components []Component) error {
	for _, component := range components {
		dir, err := b.Dir(component)
		if err != nil {
			return err
		}
		if _, err := os.Stat(dir); err == nil {
			continue
		}
		if err := b.build(ctx, component, dir); err != nil {
			return fmt.Errorf("build %s: %w", component.Name, err)
		}
	}
	return nil
}

func (b Builder) build(ctx context.Context, c Component, dir string) error {
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(b.Cache, ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	b.Out.Say("building %s %s (only once, about %s min on two cores)", c.Name, c.Version, c.Minutes)
	began := time.Now()
	err = b.Out.During("building "+c.Name, func() error { return b.compile(ctx, c, fresh) })
	if err != nil {
		return err
	}
	if err := arrange(c, fresh); err != nil {
		return err
	}
	if err := b.keep(ctx, c, fresh); err != nil {
		return err
	}
	b.Out.Say("built %s in %s", c.Name, time.Since(began).Round(time.Second))
	if err := os.Chmod(fresh, 0o755); err != nil {
		return err
	}
	// Another checkout may have been faster; its result is as good.
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// fast lets the compiler collect its garbage less often, for which there is room enough: it
// takes a quarter of its time (etcd on two busy cores: 67 s, and 46 s so and without DWARF).
const fast = "GOGC=400"

func (b Builder) compile(ctx context.Context, c Component, fresh string) error {
	target := fresh + "/"
	if c.Target == own {
		target += c.Name
	}
	args := []string{
		"build", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-ldflags", c.Ldflags, "-tags", c.Tags, "-o", target, c.Target,
	}
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = filepath.Join(b.Sources, c.Name)
	command.Env = append(os.Environ(), fast, "GOWORK=off", "CGO_ENABLED="+map[bool]string{true: "1", false: "0"}[c.Cgo])
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, lastLines(out, 20))
	}
	return nil
}

func arrange(c Component, dir string) error {
	for from, to := range c.Rename {
		if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
			return err
		}
	}
	for _, link := range c.Links {
		if err := os.Symlink(c.Name, filepath.Join(dir, link)); err != nil {
			return err
		}
	}
	return nil
}

// Manifests is the folder of kept files, below a component's own.
const Manifests = "manifests"

func (b Builder) keep(ctx context.Context, c Component, dir string) error {
	if len(c.Keep) == 0 {
		return nil
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", c.Module)
	list.Dir = filepath.Join(b.Sources, c.Name)
	list.Env = append(os.Environ(), "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("find the sources of %s: %w", c.Module, err)
	}
	target := filepath.Join(dir, Manifests)
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	for _, name := range c.Keep {
		source := filepath.Join(strings.TrimSpace(string(out)), name)
		// The module cache is read-only; copies must be removable.
		if err := exec.CommandContext(ctx, "cp", "-R", "--no-preserve=mode", source, target).Run(); err != nil {
			return fmt.Errorf("keep %s: %w", name, err)
		}
	}
	return nil
}

func lastLines(out []byte, count int) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-count):], []byte("\n")))
}
