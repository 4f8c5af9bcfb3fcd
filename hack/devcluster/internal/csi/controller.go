// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// fails is the parameter of a VolumeSnapshotClass whose snapshots fail, for tests; its value is what the driver says.
const fails = "fails"

// smallest is the size of a volume that XFS can be made in.
const smallest = 16 << 20

func (d *driver) ControllerGetCapabilities(
	context.Context, *spec.ControllerGetCapabilitiesRequest,
) (*spec.ControllerGetCapabilitiesResponse, error) {
	answer := &spec.ControllerGetCapabilitiesResponse{}
	for _, kind := range []spec.ControllerServiceCapability_RPC_Type{
		spec.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME, spec.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
	} {
		answer.Capabilities = append(answer.Capabilities, &spec.ControllerServiceCapability{
			Type: &spec.ControllerServiceCapability_Rpc{Rpc: &spec.ControllerServiceCapability_RPC{Type: kind}},
		})
	}
	return answer, nil
}

// CreateVolume makes an empty volume, or one with the content of a snapshot.
func (d *driver) CreateVolume(ctx context.Context, r *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	size := max(r.GetCapacityRange().GetRequiredBytes(), smallest)
	var err error
	if source := r.GetVolumeContentSource().GetSnapshot(); source != nil {
		file := d.snapshot(source.SnapshotId)
		if _, missing := os.Stat(file); missing != nil {
			return nil, status.Errorf(codes.NotFound, "there is no snapshot %s", source.SnapshotId)
		}
		err = d.volumes.Copy(ctx, file, r.Name, size)
	} else {
		err = d.volumes.Create(ctx, r.Name, size)
	}
	if err != nil {
		return nil, status.Errorf(codes.Internal, "create volume %s: %v", r.Name, err)
	}
	return &spec.CreateVolumeResponse{Volume: &spec.Volume{
		VolumeId: r.Name, CapacityBytes: size, ContentSource: r.VolumeContentSource,
	}}, nil
}

func (d *driver) DeleteVolume(_ context.Context, r *spec.DeleteVolumeRequest) (*spec.DeleteVolumeResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if err := d.volumes.Delete(r.VolumeId); err != nil {
		return nil, status.Errorf(codes.Internal, "delete volume %s: %v", r.VolumeId, err)
	}
	return &spec.DeleteVolumeResponse{}, nil
}

func (d *driver) ValidateVolumeCapabilities(
	_ context.Context, r *spec.ValidateVolumeCapabilitiesRequest,
) (*spec.ValidateVolumeCapabilitiesResponse, error) {
	return &spec.ValidateVolumeCapabilitiesResponse{Confirmed: &spec.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeCapabilities: r.VolumeCapabilities,
	}}, nil
}

func (d *driver) snapshot(id string) string {
	return filepath.Join(d.snapshots, filepath.Base(id)+".img")
}

// CreateSnapshot copies the volume; again is harmless.
func (d *driver) CreateSnapshot(ctx context.Context, r *spec.CreateSnapshotRequest) (*spec.CreateSnapshotResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if why := r.Parameters[fails]; why != "" {
		return nil, status.Error(codes.Internal, why)
	}
	file := d.snapshot(r.Name)
	info, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		if err = d.volumes.Snapshot(ctx, r.SourceVolumeId, file); err == nil {
			info, err = os.Stat(file)
		}
	}
	if err != nil {
		return nil, status.Errorf(codes.Internal, "take a snapshot of %s: %v", r.SourceVolumeId, err)
	}
	return &spec.CreateSnapshotResponse{Snapshot: &spec.Snapshot{
		SnapshotId: r.Name, SourceVolumeId: r.SourceVolumeId, SizeBytes: info.Size(), ReadyToUse: true,
		CreationTime: timestamppb.New(info.ModTime()),
	}}, nil
}

func (d *driver) DeleteSnapshot(_ context.Context, r *spec.DeleteSnapshotRequest) (*spec.DeleteSnapshotResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if err := os.Remove(d.snapshot(r.SnapshotId)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, status.Error(codes.Internal, fmt.Sprintf("delete snapshot %s: %v", r.SnapshotId, err))
	}
	return &spec.DeleteSnapshotResponse{}, nil
}
