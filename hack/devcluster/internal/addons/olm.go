// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// OLMImage is the name of the image that the rewritten manifests use.
const OLMImage = "operator-framework/olm:v0.42.0"

// CRDs installs the types of the Operator Lifecycle Manager, or of cert-manager. The folder holds
// its release's own manifests.
func (i *Installer) CRDs(ctx context.Context, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "crds", "*.yaml"))
	if err != nil {
		return err
	}
	return i.applyFiles(ctx, folder, files)
}

// applyFiles installs what a folder holds, all at once.
func (i *Installer) applyFiles(ctx context.Context, folder string, files []string) error {
	if len(files) == 0 {
		return fmt.Errorf("%s holds no CRDs", folder)
	}
	slices.Sort(files)
	var all []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		all = append(all, string(raw))
	}
	return i.apply(ctx, strings.Join(all, "\n---\n"))
}

// OLM installs the Operator Lifecycle Manager itself.
func (i *Installer) OLM(ctx context.Context, folder string) error {
	raw, err := os.ReadFile(filepath.Join(folder, "olm.yaml"))
	if err != nil {
		return err
	}
	return i.apply(ctx, rewrite(string(raw)))
}

var (
	image     = regexp.MustCompile(` *quay\.io/operator-framework/olm@sha256:[0-9a-f]+`)
	oldFlag   = regexp.MustCompile(`(- ['"]?)-((?:namespace|util-image|configmapServerImage)\b)`)
	readiness = regexp.MustCompile(`(?m)^( *)readinessProbe:\n`)
)

// rewrite makes the release's quickstart fit: the programs refuse flags with
// one dash, the image is built here, the public catalog is out of reach, and
// nobody wants to wait ten seconds for the second look at a probe.
func rewrite(manifests string) string {
	manifests = image.ReplaceAllString(manifests, " quay.io/"+OLMImage)
	manifests = oldFlag.ReplaceAllString(manifests, "$1--$2")
	manifests = readiness.ReplaceAllString(manifests, "${1}readinessProbe:\n$1  periodSeconds: 1\n")
	documents := strings.Split(manifests, "\n---\n")
	documents = slices.DeleteFunc(documents, func(document string) bool {
		return strings.Contains(document, "kind: CatalogSource\n")
	})
	return strings.Join(documents, "\n---\n")
}

// PackageServer returns nil once OLM has installed its own operator, which
// shows that all of it works.
func (i *Installer) PackageServer(ctx context.Context) error {
	const path = "/apis/operators.coreos.com/v1alpha1/namespaces/olm/clusterserviceversions/packageserver"
	raw, err := i.client.Discovery().RESTClient().Get().AbsPath(path).DoRaw(ctx)
	if err != nil {
		return err
	}
	var version struct {
		Status struct {
			Phase   string `json:"phase"`
			Message string `json:"message"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &version); err != nil {
		return err
	}
	if version.Status.Phase != "Succeeded" {
		return fmt.Errorf("packageserver is %s: %s", version.Status.Phase, version.Status.Message)
	}
	return nil
}
