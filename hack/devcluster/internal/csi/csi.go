// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package csi is a CSI driver for tests, of one node: its volumes are those of package volumes, and it takes VolumeSnapshots of them. A
// snapshot is a copy of the volume's file, made while the kernel holds up writes: what a crash of the node at that moment would leave.
//
// It registers itself with the kubelet, and gives claims their volumes. The csi-snapshotter of Kubernetes CSI asks it for snapshots.
package csi

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/volumes"
)

// Name is what a StorageClass and a VolumeSnapshotClass say to get volumes and snapshots from here.
const Name = "csi.devcluster.etcd-operator.github.com"

// Config is what the driver's command line says.
type Config struct {
	Kubeconfig string

	Node    string
	Dir     string // of volumes and snapshots
	Socket  string
	Kubelet string // the kubelet's folder
	Address string // where it answers that all is well
}

// Run serves until the context ends.
func Run(ctx context.Context, config Config) error {
	d := &driver{
		node: config.Node, volumes: volumes.Store{Dir: filepath.Join(config.Dir, "volumes")}, snapshots: filepath.Join(config.Dir, "snapshots"),
	}
	if err := os.MkdirAll(d.snapshots, 0o755); err != nil {
		return err
	}
	if err := d.volumes.MountAll(ctx); err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(logged))
	spec.RegisterIdentityServer(server, d)
	spec.RegisterControllerServer(server, d)
	spec.RegisterNodeServer(server, d)
	registrar := grpc.NewServer()
	registration.RegisterRegistrationServer(registrar, &registered{socket: config.Socket})
	go healthy(config.Address)
	failed := make(chan error, 3)
	go func() { failed <- provision(ctx, config.Kubeconfig, d) }()
	for socket, s := range map[string]*grpc.Server{
		config.Socket: server, filepath.Join(config.Kubelet, "plugins_registry", Name+"-reg.sock"): registrar,
	} {
		listener, err := listen(socket)
		if err != nil {
			return err
		}
		go func() { failed <- s.Serve(listener) }()
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		registrar.Stop()
		server.GracefulStop()
		return nil
	}
}

// listen takes the place of one that has died.
func listen(socket string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return nil, err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", socket)
}

func healthy(address string) {
	handler := http.NewServeMux()
	handler.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	log.Printf("health: %v", server.ListenAndServe())
}

func logged(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	answer, err := handle(ctx, request)
	if err != nil {
		log.Printf("%s: %v", info.FullMethod, err)
	}
	return answer, err
}

// driver answers one call at a time: all that it does takes milliseconds, but for a copy.
type driver struct {
	spec.UnimplementedIdentityServer
	spec.UnimplementedControllerServer
	spec.UnimplementedNodeServer

	node      string
	volumes   volumes.Store
	snapshots string
	mutex     sync.Mutex
}

func (d *driver) GetPluginInfo(context.Context, *spec.GetPluginInfoRequest) (*spec.GetPluginInfoResponse, error) {
	return &spec.GetPluginInfoResponse{Name: Name, VendorVersion: "1"}, nil
}

func (d *driver) GetPluginCapabilities(context.Context, *spec.GetPluginCapabilitiesRequest) (*spec.GetPluginCapabilitiesResponse, error) {
	return &spec.GetPluginCapabilitiesResponse{Capabilities: []*spec.PluginCapability{{Type: &spec.PluginCapability_Service_{
		Service: &spec.PluginCapability_Service{Type: spec.PluginCapability_Service_CONTROLLER_SERVICE},
	}}}}, nil
}

func (d *driver) Probe(context.Context, *spec.ProbeRequest) (*spec.ProbeResponse, error) {
	return &spec.ProbeResponse{}, nil
}

// registered tells the kubelet where the driver answers.
type registered struct {
	registration.UnimplementedRegistrationServer

	socket string
}

func (r *registered) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: "CSIPlugin", Name: Name, Endpoint: r.socket, SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (r *registered) NotifyRegistrationStatus(
	_ context.Context, status *registration.RegistrationStatus,
) (*registration.RegistrationStatusResponse, error) {
	if !status.PluginRegistered {
		return nil, fmt.Errorf("the kubelet refuses the driver: %s", status.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}
