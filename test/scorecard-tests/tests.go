// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusters "github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// becomesAvailable: three members form a cluster.
func becomesAvailable(ctx context.Context, w *world) error {
	_, err := w.newCluster(ctx, 3)
	return err
}

// scales: one member becomes three, and one again.
func scales(ctx context.Context, w *world) error {
	c, err := w.newCluster(ctx, 1)
	if err != nil {
		return err
	}
	for _, size := range []int32{3, 1} {
		before := client.MergeFrom(c.DeepCopy())
		c.Spec.Size = ptr.To(size)
		if err := w.api.Patch(ctx, c, before); err != nil {
			return fmt.Errorf("scale to %d: %w", size, err)
		}
		if err := w.settles(ctx, c); err != nil {
			return err
		}
		err := w.until(ctx, fmt.Sprintf("%s to have %d Pods", c.Name, size), func() (string, error) {
			pods, err := w.pods(ctx, c) // one that has left serves on for a moment
			if len(pods) != int(size) {
				return fmt.Sprintf("%d Pods", len(pods)), err
			}
			return "", err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// heals: a member whose Pod was killed comes back as the same member.
func heals(ctx context.Context, w *world) error {
	c, err := w.newCluster(ctx, 3)
	if err != nil {
		return err
	}
	pods, err := w.pods(ctx, c)
	if err != nil {
		return err
	}
	victim, was := pods[0], ids(c)
	if err := w.api.Delete(ctx, &victim, client.GracePeriodSeconds(0)); err != nil {
		return fmt.Errorf("kill %s: %w", victim.Name, err)
	}
	err = w.until(ctx, victim.Name+" to have another Pod that is ready", func() (string, error) {
		pods, err := w.pods(ctx, c) // the status may be from before
		for _, p := range pods {
			if p.Name == victim.Name && p.UID != victim.UID && isReady(&p) {
				return "", err
			}
		}
		return "no new Pod is ready", err
	})
	if err != nil {
		return err
	}
	if err := w.settles(ctx, c); err != nil {
		return err
	}
	if is := ids(c); is != was {
		return fmt.Errorf("the members were %s and are %s: a killed member must come back as itself", was, is)
	}
	return nil
}

// ids are the members' names and IDs, in the order of the status.
func ids(c *clusters.EtcdCluster) string {
	all := ""
	for _, m := range c.Status.Members {
		all += m.Name + "=" + m.ID + " "
	}
	return all
}

// examplesApply: each example of the bundle becomes a cluster that is available.
func examplesApply(ctx context.Context, w *world) error {
	examples, err := readExamples(w.bundle)
	if err != nil {
		return err
	}
	for _, object := range examples {
		c, err := untyped(object)
		if err != nil {
			return err
		}
		c.Name = w.name + "-" + c.Name
		c.Spec.DeletionPolicy = clusters.Delete // leave nothing behind
		if err := w.create(ctx, c); err != nil {
			return err
		}
		if err := w.settles(ctx, c); err != nil {
			return err
		}
		if err := w.api.Delete(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// readExamples are the examples in the bundle's ClusterServiceVersion that can be created as they are.
func readExamples(bundle string) ([]map[string]any, error) {
	files, err := filepath.Glob(filepath.Join(bundle, "manifests", "*.clusterserviceversion.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("%d ClusterServiceVersions in %s, want one", len(files), bundle)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return nil, err
	}
	var csv struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal(text, &csv); err != nil {
		return nil, err
	}
	var examples []map[string]any
	if err := json.Unmarshal([]byte(csv.Metadata.Annotations["alm-examples"]), &examples); err != nil {
		return nil, fmt.Errorf("read alm-examples: %w", err)
	}
	examples = slices.DeleteFunc(examples, needsMore)
	if len(examples) == 0 {
		return nil, errors.New("no alm-examples")
	}
	return examples, nil
}

// needsMore says whether an example is none that can be created alone: backups and their stores need a place of the user's, a
// cluster that begins with something needs that, and one whose certificates come from others waits for them.
func needsMore(example map[string]any) bool {
	spec, _ := example["spec"].(map[string]any)
	tls, _ := spec["tls"].(map[string]any)
	return example["kind"] != "EtcdCluster" || spec["bootstrap"] != nil || tls["secretRefs"] != nil || tls["issuerRef"] != nil
}
