// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package support

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Bundle is what was read for a cluster.
type Bundle struct {
	Name    string // the folder in the archive
	Version string // of the plugin
	At      time.Time
	Status  string // as kubectl etcd status shows it
	Objects []unstructured.Unstructured
	Events  []unstructured.Unstructured
	Logs    []Log
	Unread  []string // what could not be read, and why
}

// Log is that of a container.
type Log struct {
	Namespace, Pod, Container string
	Previous                  bool // of the container before the last restart
	Text                      string
}

// File is one of a bundle.
type File struct {
	Name string
	Text string
}

// Files are those of the bundle, sorted by name, without secrets.
func Files(b Bundle) ([]File, error) {
	r := &redactor{known: map[string]bool{}, uids: map[string]bool{}}
	for _, o := range b.Objects {
		r.uids[string(o.GetUID())] = true
	}
	var objects []*unstructured.Unstructured
	for _, o := range b.Objects {
		if o.GetKind() != "Secret" {
			objects = append(objects, &unstructured.Unstructured{Object: r.object(o.DeepCopy().Object)})
		}
	}
	var files []File
	for _, o := range objects {
		raw, err := yaml.Marshal(r.forgetIn(o.Object))
		if err != nil {
			return nil, fmt.Errorf("write %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		name := path.Join("objects", cmp.Or(o.GetNamespace(), "cluster"), strings.ToLower(o.GetKind()), o.GetName()+".yaml")
		files = append(files, File{name, string(raw)})
	}
	for _, l := range b.Logs {
		name := l.Container
		if l.Previous {
			name += ".previous"
		}
		files = append(files, File{path.Join("logs", l.Namespace, l.Pod, name+".log"), scrub(l.Text)})
	}
	files = append(files, File{"events.txt", scrub(events(b.Events))}, File{"status.txt", scrub(b.Status)}, File{"report.txt", ""})
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	for i := range files {
		if files[i].Name == "report.txt" {
			files[i].Text = scrub(contents(b, files))
		}
		files[i].Text = r.forget(files[i].Text)
	}
	return files, nil
}

// contents say what is in the bundle, and what is not.
func contents(b Bundle, files []File) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, by kubectl etcd %s at %s\n\n", b.Name, b.Version, b.At.UTC().Format(time.RFC3339))
	fmt.Fprintf(&out, "Secrets were not read. Values of variables, ConfigMaps, unknown annotations, and what looks like a secret are %s.\n"+
		"A secret in other words than these would be missed: look through the files before you hand them on.\n", Redacted)
	if len(b.Unread) > 0 {
		fmt.Fprintln(&out, "\nWhat could not be read:")
	}
	for _, each := range b.Unread {
		fmt.Fprintln(&out, "  "+each)
	}
	fmt.Fprintln(&out, "\nFiles:")
	for _, file := range files {
		fmt.Fprintln(&out, "  "+file.Name)
	}
	return out.String()
}

// events are a line each, the oldest first.
func events(all []unstructured.Unstructured) string {
	type line struct{ at, text string }
	var lines []line
	for _, e := range all {
		get := func(fields ...string) string {
			text, _, _ := unstructured.NestedString(e.Object, fields...)
			return text
		}
		at := cmp.Or(get("lastTimestamp"), get("eventTime"), get("metadata", "creationTimestamp"))
		lines = append(lines, line{at, fmt.Sprintf("%s %s %s %s/%s: %s", at, get("type"), get("reason"),
			get("involvedObject", "kind"), get("involvedObject", "name"), cmp.Or(get("message"), get("note")))})
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.text, b.text)) })
	var out strings.Builder
	for _, l := range lines {
		fmt.Fprintln(&out, l.text)
	}
	return out.String()
}

// Write writes the files as a tar.gz. The same files at the same time are the same bytes.
func Write(out io.Writer, folder string, at time.Time, files []File) error {
	packed := gzip.NewWriter(out)
	archive := tar.NewWriter(packed)
	for _, file := range files {
		header := &tar.Header{Name: path.Join(folder, file.Name), Mode: 0o644, Size: int64(len(file.Text)), ModTime: at, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := io.WriteString(archive, file.Text); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return packed.Close()
}
