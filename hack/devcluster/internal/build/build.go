// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

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
	"path"
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
	fmt.Fprintln(sum, c.Name, c.Version, c.Targets, c.Tags, flags, slim, c.Stamp, c.Links, c.Rename, c.Keep, compiler)
	sum.Write(sources)
	return fmt.Sprintf("%s-%s-%s", c.Name, c.Version, hex.EncodeToString(sum.Sum(nil))[:12])
}

func (b Builder) sources(c Component) ([]byte, error) {
	var all []byte
	for _, name := range []string{"go.mod", "go.sum", "main.go", "coredns/main.go"} {
		raw, err := os.ReadFile(filepath.Join(b.Sources, c.Folder, name))
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

// Ensure builds what the cache lacks, one folder at a time: each build uses every
// core by itself, and links one program while it compiles another.
func (b Builder) Ensure(ctx context.Context, components []Component) error {
	var folders []string
	missing := map[string][]Component{}
	for _, c := range components {
		dir, err := b.Dir(c)
		if err != nil {
			return err
		}
		if _, err := os.Stat(dir); err == nil {
			continue
		}
		if missing[c.Folder] == nil {
			folders = append(folders, c.Folder)
		}
		missing[c.Folder] = append(missing[c.Folder], c)
	}
	for _, folder := range folders {
		if err := b.build(ctx, missing[folder]); err != nil {
			return fmt.Errorf("build %s: %w", names(missing[folder]), err)
		}
	}
	return nil
}

// names are the components with their versions, as people read them.
func names(components []Component) string {
	var all []string
	for _, c := range components {
		name := c.Name
		if !strings.HasSuffix(name, c.Version) {
			name += " " + c.Version
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// build compiles components of one folder, all in one go.
func (b Builder) build(ctx context.Context, components []Component) error {
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(b.Cache, ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	var minutes float64
	for _, c := range components {
		minutes += c.Minutes
	}
	b.Out.Say("building %s (only once, about %g min on two cores)", names(components), max(0.1, minutes))
	began := time.Now()
	err = b.Out.During("building "+components[0].Folder, func() error { return b.compile(ctx, components, fresh) })
	if err != nil {
		return err
	}
	for _, c := range components {
		if err := b.store(ctx, c, fresh); err != nil {
			return err
		}
	}
	b.Out.Say("built %s in %s", names(components), time.Since(began).Round(time.Second))
	return nil
}

// store moves the programs of one component to their place in the cache.
func (b Builder) store(ctx context.Context, c Component, built string) error {
	dir, err := b.Dir(c)
	if err != nil {
		return err
	}
	if c.Targets[0] != tools {
		part := filepath.Join(built, "of-"+c.Name)
		if err := os.Mkdir(part, 0o755); err != nil {
			return err
		}
		for _, name := range c.programs() {
			if err := os.Rename(filepath.Join(built, name), filepath.Join(part, name)); err != nil {
				return err
			}
		}
		built = part
	}
	if err := arrange(c, built); err != nil {
		return err
	}
	if err := b.keep(ctx, c, built); err != nil {
		return err
	}
	if err := os.Chmod(built, 0o755); err != nil {
		return err
	}
	// Another checkout may have been faster; its result is as good.
	if err := os.Rename(built, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// programs are the files that go build makes of the targets.
func (c Component) programs() []string {
	var all []string
	for _, target := range c.Targets {
		if target == own {
			target = c.Folder
		}
		all = append(all, path.Base(target))
	}
	return all
}

// The flags of everything that is compiled here, the Makefile's and those of the images: packages that were compiled with others
// are compiled again. Without DWARF the compiler takes a quarter less (etcd on two busy cores: 67 s, and 46 s so and with the garbage
// of fast). C is left out: it is needed for nothing that runs here, and static programs fit into any image.
const (
	flags    = "-trimpath -buildvcs=false -gcflags=all=-dwarf=false"
	tags     = "containers_image_openpgp"
	slim     = "-s -w"
	withoutC = "CGO_ENABLED=0"
)

// fast lets the compiler collect its garbage less often, for which there is room enough.
const fast = "GOGC=400"

func (b Builder) compile(ctx context.Context, components []Component, fresh string) error {
	all := []string{tags}
	link := []string{slim}
	var targets []string
	for _, c := range components {
		targets = append(targets, c.Targets...)
		all = append(all, c.Tags)
		link = append(link, c.Stamp)
	}
	args := []string{"build", "-tags", strings.Join(all, ","), "-ldflags", strings.Join(link, " "), "-o", fresh + "/"}
	command := exec.CommandContext(ctx, "go", append(args, targets...)...)
	command.Dir = filepath.Join(b.Sources, components[0].Folder)
	command.Env = append(os.Environ(), fast, "GOWORK=off", withoutC, "GOFLAGS="+flags)
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
	list.Dir = filepath.Join(b.Sources, c.Folder)
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
