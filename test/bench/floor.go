// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io"
	"sync"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
)

// floorPause is the pause between the Pods of the floor: none. Members that start in
// the same instant wait for each other, but no pause between Pods was seen to prevent
// it: see the benchmark pauses.
const floorPause = time.Duration(0)

//go:embed floor/*.yaml
var manifests embed.FS

var templates = template.Must(template.ParseFS(manifests, "floor/*.yaml"))

// A floor is what the operator is compared with: three members written by hand,
// with certificates that are ready before the clock starts.
type floor struct {
	Name, Namespace string
	Members         []string
	Volume          string // size of each
	Quota           int64
}

func (b *bench) floor(name string) floor {
	return b.floorOf(name, resource.MustParse(volumeSize))
}

// floorOf has the quota that the operator gives a volume of the size.
func (b *bench) floorOf(name string, volume resource.Quantity) floor {
	return floor{
		Name: name, Namespace: b.namespace, Members: memberNames(name, 3), Volume: volume.String(), Quota: v1beta1.DefaultQuota(volume.Value()),
	}
}

// render reads one template, for one of the first members; none for what is not of
// one member.
func (f floor) render(file, member string) ([]*unstructured.Unstructured, error) {
	return f.renderIn("new", f.Members, file, member)
}

// renderIn reads one template for a member that enters a cluster of these members.
func (f floor) renderIn(state string, members []string, file, member string) ([]*unstructured.Unstructured, error) {
	var text bytes.Buffer
	f.Members = members
	data := struct {
		floor
		State, Member string
	}{f, state, member}
	if err := templates.ExecuteTemplate(&text, file, data); err != nil {
		return nil, fmt.Errorf("render %s: %w", file, err)
	}
	var all []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(&text, 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		all = append(all, object)
	}
}

// objects are rendered before the clock starts: those that are sent at once, and
// the Pods, which may follow one another.
func (f floor) objects() (now, pods []*unstructured.Unstructured, err error) {
	now, err = f.render("services.yaml", "")
	if err != nil {
		return nil, nil, err
	}
	for _, member := range f.Members {
		claim, err := f.render("claim.yaml", member)
		if err != nil {
			return nil, nil, err
		}
		pod, err := f.render("pod.yaml", member)
		if err != nil {
			return nil, nil, err
		}
		now, pods = append(now, claim...), append(pods, pod...)
	}
	return now, pods, nil
}

// applyFloor makes the floor by hand, and says how long it took until every
// member has answered.
func (b *bench) applyFloor(ctx context.Context, f floor, pause time.Duration) (time.Duration, error) {
	if _, err := b.certify(ctx, f); err != nil {
		return 0, err
	}
	now, pods, err := f.objects()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	var group sync.WaitGroup
	errs := make([]error, len(now)+len(pods))
	for i, object := range append(now, pods...) {
		group.Go(func() {
			if nth := i - len(now); nth > 0 {
				time.Sleep(time.Duration(nth) * pause)
			}
			errs[i] = b.client.Create(ctx, object)
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, fmt.Errorf("create the floor: %w", err)
	}
	err = b.answer(ctx, f.Name, len(f.Members), "")
	return time.Since(begin), err
}

// certify makes the Secrets that the members and the bench use, and returns the authority.
func (b *bench) certify(ctx context.Context, f floor) (pki.Pair, error) {
	now := time.Now()
	ca, err := pki.NewCA(rand.Reader, now, f.Name, 24*time.Hour)
	if err != nil {
		return pki.Pair{}, fmt.Errorf("make the authority of the floor: %w", err)
	}
	member, err := pki.Issue(rand.Reader, now, ca, pki.Request{
		CommonName: "etcd", Server: true, Client: true, Lifetime: 24 * time.Hour,
		DNSNames: []string{"*." + f.Name + "." + f.Namespace + ".svc", f.Name + "-client." + f.Namespace + ".svc"},
	})
	if err != nil {
		return pki.Pair{}, fmt.Errorf("issue the certificate of the floor: %w", err)
	}
	for _, name := range []string{f.Name + "-tls", f.Name + "-client"} {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.Namespace, Labels: map[string]string{instanceLabel: f.Name}},
			Data:       map[string][]byte{"ca.crt": ca.CertPEM, corev1.TLSCertKey: member.CertPEM, corev1.TLSPrivateKeyKey: member.KeyPEM},
		}
		if err := b.client.Create(ctx, secret); err != nil {
			return pki.Pair{}, fmt.Errorf("create Secret %s: %w", name, err)
		}
	}
	return ca, nil
}

// removeFloor deletes the floor, and waits until all of it is gone.
func (b *bench) removeFloor(ctx context.Context, f floor) error {
	for _, object := range []client.Object{&corev1.PersistentVolumeClaim{}, &corev1.Secret{}, &corev1.Service{}} {
		err := b.client.DeleteAllOf(ctx, object, client.InNamespace(f.Namespace), client.MatchingLabels{instanceLabel: f.Name})
		if err != nil {
			return fmt.Errorf("delete the floor: %w", err)
		}
	}
	return b.gone(ctx, f.Name)
}
