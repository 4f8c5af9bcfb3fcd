// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"encoding/json"
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestNewClustersAskForALittle: only clusters whose first members were chosen by a version that knows it, and only if the spec does not
// say. What was written is what is written back.
func TestNewClustersAskForALittle(t *testing.T) {
	for what, test := range map[string]struct {
		spec  string
		isNew bool
		cpu   string
	}{
		"a new cluster":                          {`{}`, true, "100m"},
		"a cluster of an earlier version":        {`{}`, false, "0"},
		"nothing is asked for":                   {`{"resources":{}}`, true, "0"},
		"null":                                   {`{"resources":null}`, true, "100m"},
		"nothing is requested":                   {`{"resources":{"requests":{}}}`, true, "0"},
		"a limit alone":                          {`{"resources":{"limits":{"memory":"1Gi"}}}`, true, "0"},
		"more is asked for":                      {`{"resources":{"requests":{"cpu":"2"}}}`, true, "2"},
		"an old one, and nothing is asked for":   {`{"resources":{}}`, false, "0"},
		"an old one with what it ever asked for": {`{"resources":{"requests":{"cpu":"20m"}}}`, false, "20m"},
	} {
		t.Run(what, func(t *testing.T) {
			c := &v1beta1.EtcdCluster{Status: v1beta1.EtcdClusterStatus{Bootstrap: &v1beta1.Bootstrap{Requests: test.isNew}}}
			if err := json.Unmarshal([]byte(test.spec), &c.Spec); err != nil {
				t.Fatal(err)
			}
			for range 2 { // also after a copy that was written and read
				if got := c.MemberResources(); got.Requests.Cpu().String() != test.cpu {
					t.Errorf("%s of a processor, want %s", got.Requests.Cpu(), test.cpu)
				}
				text, err := json.Marshal(c.DeepCopy())
				if err != nil {
					t.Fatal(err)
				}
				c = &v1beta1.EtcdCluster{}
				if err := json.Unmarshal(text, c); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
