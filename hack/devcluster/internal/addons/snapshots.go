// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"context"
	_ "embed"
	"path/filepath"
)

//go:embed manifests/snapshots.yaml
var snapshots string

// SnapshotCRDs installs the types of VolumeSnapshots. The folder holds those of the release.
func (i *Installer) SnapshotCRDs(ctx context.Context, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	return i.applyFiles(ctx, folder, files)
}

// Snapshots installs the classes of the CSI driver. The types must be there.
func (i *Installer) Snapshots(ctx context.Context) error { return i.apply(ctx, snapshots) }
