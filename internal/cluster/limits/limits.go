// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limits says whether an EtcdCluster asks for more than the administrator of the operator allows.
//
// It is pure. It must never look at what runs: only at what is asked for, and at what was allowed before.
package limits

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Limits are what the Pods of members may have of an EtcdCluster. A list that is empty limits nothing.
type Limits struct {
	Images          Names  // of spec.image and spec.podTemplate; those that the operator takes by itself are not asked
	PriorityClasses Names  // of spec.scheduling.priorityClassName
	Tolerations     Taints // of spec.scheduling.tolerations
	Labels          Names  // keys of spec.podMetadata.labels
	Annotations     Names  // keys of spec.podMetadata.annotations
	NoPodTemplate   bool   // spec.podTemplate may not be used
}

// Flags of the manager, by which an administrator says what is allowed.
const (
	ImagesFlag          = "allowed-images"
	PriorityClassesFlag = "allowed-priority-classes"
	TolerationsFlag     = "allowed-tolerations"
	LabelsFlag          = "allowed-labels"
	AnnotationsFlag     = "allowed-annotations"
	NoPodTemplateFlag   = "forbid-pod-template"
)

// Forbidden says which fields of the spec ask for what is not allowed, and what to do; empty if all is allowed.
func (l Limits) Forbidden(c *v1beta1.EtcdCluster) string {
	spec := c.Spec
	var all []string
	forbid := func(field, value, flag string, allowed fmt.Stringer) {
		all = append(all, fmt.Sprintf("%s %q is not allowed: --%s of the operator allows %s", field, value, flag, allowed))
	}
	if !l.AllowsImage(spec.Image) {
		forbid("spec.image", spec.Image, ImagesFlag, &l.Images)
	}
	all = append(all, l.beside(spec.PodTemplate)...)
	if class := spec.Scheduling.PriorityClassName; class != "" && !l.PriorityClasses.allow(class) {
		forbid("spec.scheduling.priorityClassName", class, PriorityClassesFlag, &l.PriorityClasses)
	}
	for i, toleration := range spec.Scheduling.Tolerations {
		if !l.Tolerations.allow(toleration) {
			forbid(fmt.Sprintf("spec.scheduling.tolerations[%d]", i), describe(toleration), TolerationsFlag, &l.Tolerations)
		}
	}
	for _, key := range l.Labels.beyond(spec.PodMetadata.Labels) {
		forbid("spec.podMetadata.labels", key, LabelsFlag, &l.Labels)
	}
	for _, key := range l.Annotations.beyond(spec.PodMetadata.Annotations) {
		forbid("spec.podMetadata.annotations", key, AnnotationsFlag, &l.Annotations)
	}
	if len(all) == 0 {
		return ""
	}
	until := "none is started, changed or replaced"
	if WasAllowed(c) {
		until = "one that has ended is started again as it was, and none is added, changed or replaced"
	}
	return strings.Join(all, "; ") + "; change that, or ask the operator's administrator to allow it: " +
		"until then members that run go on as they are, and " + until
}

// beside says what is not allowed of a template of Pods.
func (l Limits) beside(template *v1beta1.PodTemplate) (all []string) {
	if template == nil {
		return nil
	}
	if l.NoPodTemplate {
		return []string{"spec.podTemplate is not allowed: --" + NoPodTemplateFlag + " of the operator forbids it"}
	}
	for _, container := range slices.Concat(template.InitContainers, template.Containers) {
		if !l.AllowsImage(container.Image) {
			all = append(all, fmt.Sprintf("image %q of container %s of spec.podTemplate is not allowed: --%s of the operator allows %s",
				container.Image, container.Name, ImagesFlag, &l.Images))
		}
	}
	return all
}

// Sum is that of the fields that can be limited, by which the status says what was allowed last: the first half of a SHA-256 in
// hexadecimal.
func Sum(c *v1beta1.EtcdCluster) string {
	limited := []any{
		c.Spec.Image, c.Spec.Scheduling.PriorityClassName, c.Spec.Scheduling.Tolerations,
		c.Spec.PodMetadata.Labels, c.Spec.PodMetadata.Annotations,
	}
	if c.Spec.PodTemplate != nil { // without one the sum is that of earlier releases
		limited = append(limited, c.Spec.PodTemplate)
	}
	fields, err := json.Marshal(limited)
	if err != nil {
		return "" // texts and numbers have JSON
	}
	sum := sha256.Sum256(fields)
	return hex.EncodeToString(sum[:len(sum)/2])
}

// WasAllowed says whether those fields are as they were when all of them were allowed: flags were narrowed since.
func WasAllowed(c *v1beta1.EtcdCluster) bool {
	return c.Status.LastAllowed != "" && c.Status.LastAllowed == Sum(c)
}

// AllowsImage says whether a user may choose the image; empty is no choice.
func (l Limits) AllowsImage(image string) bool { return image == "" || l.Images.allow(image) }

// Names are those that are allowed: each in full, or the beginning of several and a *.
type Names []string

// beyond are the keys that are not allowed, sorted.
func (n Names) beyond(values map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(values)), n.allow)
}

func (n Names) allow(name string) bool {
	return len(n) == 0 || slices.ContainsFunc(n, func(pattern string) bool { return matches(pattern, name) })
}

// matches compares names as they are written. After a : or @ the * stands for no slash: etcd:* is every tag of the image etcd, and
// no image of the registry at etcd:5000.
func matches(pattern, name string) bool {
	begin, open := strings.CutSuffix(pattern, "*")
	if !open {
		return pattern == name
	}
	rest, is := strings.CutPrefix(name, begin)
	return is && rest != "" && (strings.HasSuffix(begin, "/") || !strings.Contains(rest, "/"))
}

// String is the list as it is written in a flag.
func (n *Names) String() string { return strings.Join(*n, ",") }

// Set adds names, separated by commas.
func (n *Names) Set(text string) error {
	for _, name := range entries(text) {
		if at := strings.Index(name, "*"); at >= 0 && (at < len(name)-1 || at == 0 || !strings.Contains("/:@", name[at-1:at])) {
			return fmt.Errorf("%q is ambiguous: * may stand only at the end, after /, : or @", name)
		}
		*n = append(*n, name)
	}
	return nil
}

func entries(text string) []string {
	var all []string
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			all = append(all, entry)
		}
	}
	return all
}
