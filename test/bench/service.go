// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// An application is a client as one in the cluster has it: it knows the name of the
// client Service and mounts its Secret; all else is clientv3's own default.
type application struct {
	etcd  *clientv3.Client
	tries diary
}

// application connects through the Service's address, which stands in for the
// cluster's DNS. It writes once, so that it is connected before anything is timed.
func (b *bench) application(ctx context.Context, cluster string) (*application, error) {
	var service corev1.Service
	if err := b.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: cluster + "-client"}, &service); err != nil {
		return nil, fmt.Errorf("get the Service for clients: %w", err)
	}
	config, err := b.mounted(ctx, cluster)
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(v1beta1.ClientPort)
	a := &application{}
	a.etcd, err = clientv3.New(clientv3.Config{
		Endpoints: []string{"https://" + service.Name + "." + b.namespace + ".svc:" + port},
		TLS:       config, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(a.dialer(net.JoinHostPort(service.Spec.ClusterIP, port))),
			grpc.WithChainUnaryInterceptor(a.watch),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	err = poll(ctx, "a first write to "+cluster, blink, patience, func() (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := a.etcd.Put(ctx, "pulse", "")
		return err == nil, nil
	})
	return a, err
}

func (a *application) close() { _ = a.etcd.Close() } // nothing is under way any more

// dialer goes to one address, and notes every connection.
func (a *application) dialer(address string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, _ string) (net.Conn, error) {
		begin := time.Now()
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		a.tries.note(begin, "connect", err)
		return connection, err
	}
}

// watch notes calls that fail or last.
func (a *application) watch(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	begin := time.Now()
	err := invoke(ctx, method, request, reply, connection, options...)
	if err != nil || time.Since(begin) > slow {
		a.tries.note(begin, "call", err)
	}
	return err
}

// slow is how long a call may last without being noted.
const slow = 30 * time.Millisecond

// A diary is what happened to a client, in order; it only explains a measurement.
type diary struct {
	mutex sync.Mutex
	lines []string
}

func (d *diary) note(begin time.Time, what string, err error) {
	line := fmt.Sprintf("%s %-7s %6d ms", begin.Format("15:04:05.000"), what, time.Since(begin).Milliseconds())
	if err != nil {
		line += "  " + err.Error()
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) print() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, line := range d.lines {
		fmt.Println("      " + line)
	}
}
