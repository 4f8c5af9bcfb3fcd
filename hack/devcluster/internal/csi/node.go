// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"context"
	"errors"
	"os"
	"syscall"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func (d *driver) NodeGetInfo(context.Context, *spec.NodeGetInfoRequest) (*spec.NodeGetInfoResponse, error) {
	return &spec.NodeGetInfoResponse{NodeId: d.node}, nil
}

func (d *driver) NodeGetCapabilities(context.Context, *spec.NodeGetCapabilitiesRequest) (*spec.NodeGetCapabilitiesResponse, error) {
	return &spec.NodeGetCapabilitiesResponse{}, nil
}

// NodePublishVolume shows the volume, which is mounted once, at the place of a Pod, too.
func (d *driver) NodePublishVolume(ctx context.Context, r *spec.NodePublishVolumeRequest) (*spec.NodePublishVolumeResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if err := d.volumes.Mount(ctx, r.VolumeId); err != nil {
		return nil, status.Errorf(codes.Internal, "mount volume %s: %v", r.VolumeId, err)
	}
	if err := os.MkdirAll(r.TargetPath, 0o755); err != nil {
		return nil, status.Errorf(codes.Internal, "make %s: %v", r.TargetPath, err)
	}
	if isMountPoint(r.TargetPath) {
		return &spec.NodePublishVolumeResponse{}, nil
	}
	if err := syscall.Mount(d.volumes.Path(r.VolumeId), r.TargetPath, "", syscall.MS_BIND, ""); err != nil {
		return nil, status.Errorf(codes.Internal, "mount %s at %s: %v", r.VolumeId, r.TargetPath, err)
	}
	return &spec.NodePublishVolumeResponse{}, nil
}

func (d *driver) NodeUnpublishVolume(_ context.Context, r *spec.NodeUnpublishVolumeRequest) (*spec.NodeUnpublishVolumeResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	err := syscall.Unmount(r.TargetPath, 0)
	if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
		return nil, status.Errorf(codes.Internal, "unmount %s: %v", r.TargetPath, err)
	}
	if err := os.Remove(r.TargetPath); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, status.Errorf(codes.Internal, "remove %s: %v", r.TargetPath, err)
	}
	return &spec.NodeUnpublishVolumeResponse{}, nil
}

// isMountPoint says whether something is mounted there: it is on another device than its parent.
func isMountPoint(path string) bool {
	var here, above syscall.Stat_t
	return syscall.Lstat(path, &here) == nil && syscall.Lstat(path+"/..", &above) == nil && here.Dev != above.Dev
}
