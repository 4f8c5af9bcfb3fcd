// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// iconLimit keeps the icon out of the way: it is repeated in every version of every catalog.
const iconLimit = 10 << 10

func checkIcon(b *Bundle, _ Options) []string {
	icons := b.CSV.Spec.Icon
	if len(icons) != 1 {
		return []string{fmt.Sprintf("spec.icon has %d entries: give exactly one", len(icons))}
	}
	raw, err := base64.StdEncoding.DecodeString(icons[0].Data)
	switch {
	case err != nil:
		return []string{fmt.Sprintf("spec.icon is not base64: %v", err)}
	case icons[0].MediaType != "image/svg+xml":
		return []string{fmt.Sprintf("spec.icon is %s: use image/svg+xml", icons[0].MediaType)}
	case len(raw) > iconLimit:
		return []string{fmt.Sprintf("spec.icon has %d bytes: stay below %d", len(raw), iconLimit)}
	}
	width, height, err := drawing(raw)
	switch {
	case err != nil:
		return []string{fmt.Sprintf("spec.icon is no SVG with a viewBox: %v", err)}
	case width != height:
		return []string{fmt.Sprintf("spec.icon is %g by %g: make it square", width, height)}
	}
	return nil
}

// drawing returns the size of an SVG: what is drawn is in the viewBox, width and height are how large it is shown.
func drawing(raw []byte) (width, height float64, err error) {
	var picture struct {
		XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
		ViewBox string   `xml:"viewBox,attr"`
	}
	if err := xml.NewDecoder(bytes.NewReader(raw)).Decode(&picture); err != nil {
		return 0, 0, err
	}
	var x, y float64
	if _, err := fmt.Sscanf(picture.ViewBox, "%g %g %g %g", &x, &y, &width, &height); err != nil {
		return 0, 0, fmt.Errorf("viewBox %q: %w", picture.ViewBox, err)
	}
	return width, height, nil
}

// sizeLimit is half of what fits into the ConfigMap through which OLM unpacks a bundle.
const sizeLimit = 1 << 20 / 2

func checkSize(b *Bundle, _ Options) []string {
	if b.Raw.CompressedSize <= sizeLimit {
		return nil
	}
	return []string{fmt.Sprintf("the bundle has %d bytes compressed: stay below %d, half of what OLM can unpack",
		b.Raw.CompressedSize, sizeLimit)}
}

// kinds are what a bundle may hold here, each with a use. OLM knows more, and each of those breaks an installation somewhere:
// ServiceMonitor, PrometheusRule and the console's where their CRD is missing, PodMonitor in OLM v0, NetworkPolicy in Red Hat's
// pipeline, Secret and ServiceAccount on the second installation.
var kinds = []string{
	"ClusterServiceVersion", "CustomResourceDefinition", "ClusterRole", "PodDisruptionBudget", "Role", "Service",
}

func checkKinds(b *Bundle, _ Options) []string {
	var all lines
	for _, object := range b.Raw.Objects {
		switch {
		case !slices.Contains(kinds, object.GetKind()):
			all.add("%s %s does not belong into a bundle: let the operator make it, or leave it out", object.GetKind(), object.GetName())
		case object.GetKind() == "Service" && strings.Contains(object.GetName(), "webhook"):
			all.add("Service %s: OLM makes the Service of a webhook itself, leave it out", object.GetName())
		}
	}
	if len(b.CSV.Spec.WebhookDefinitions) > 0 {
		all.add("the CSV defines webhooks, but the operator serves none: remove spec.webhookdefinitions")
	}
	if len(b.CSV.Spec.APIServiceDefinitions.Owned)+len(b.CSV.Spec.APIServiceDefinitions.Required) > 0 {
		all.add("the CSV defines API services, but the operator serves none: remove spec.apiservicedefinitions")
	}
	return all
}

// checkResources is scorecard's olm-crds-have-resources, and asks for what people read beside it.
func checkResources(b *Bundle, _ Options) []string {
	var all lines
	for _, owned := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		switch {
		case len(owned.Resources) == 0:
			all.add("CRD %s lists no resources: add the marker resources={{…}} to its type", owned.Name)
		case owned.DisplayName == "" || owned.Description == "":
			all.add("CRD %s has no displayName or no description: both are shown on its tile", owned.Name)
		}
	}
	if _, err := os.Stat(filepath.Join(b.Folder, "metadata", "dependencies.yaml")); err == nil {
		all.add("metadata/dependencies.yaml: the operator depends on no other, and OLM v1 installs no bundle that does: remove it")
	}
	return all
}
