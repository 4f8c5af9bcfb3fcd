// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"testing"
)

// What others have is left: a rule of ours in their chain goes, and their rule beside it stays.
func TestPolicyRemovals(t *testing.T) {
	got := policyRemovals(`-P INPUT ACCEPT
-P FORWARD ACCEPT
-N DOCKER-USER
-N KUBE-NWPLCY-DEFAULT
-N KUBE-POD-FW-PP3HTF3BJBNQBLR2
-N KUBE-ROUTER-FORWARD
-N KUBE-ROUTER-INPUT
-A INPUT -m comment --comment "kube-router netpol - 4IA2OSFRMVNDXBVV" -j KUBE-ROUTER-INPUT
-A FORWARD -m comment --comment "kube-router netpol - TEMCG2JMHZYE7H7T" -j KUBE-ROUTER-FORWARD
-A FORWARD -j DOCKER-USER
-A KUBE-ROUTER-FORWARD -d 10.244.0.2/32 -m comment --comment "rule to jump" -j KUBE-POD-FW-PP3HTF3BJBNQBLR2
-A KUBE-POD-FW-PP3HTF3BJBNQBLR2 -j KUBE-NWPLCY-DEFAULT
`)
	want := `*filter
-D INPUT -m comment --comment "kube-router netpol - 4IA2OSFRMVNDXBVV" -j KUBE-ROUTER-INPUT
-D FORWARD -m comment --comment "kube-router netpol - TEMCG2JMHZYE7H7T" -j KUBE-ROUTER-FORWARD
-F KUBE-NWPLCY-DEFAULT
-F KUBE-POD-FW-PP3HTF3BJBNQBLR2
-F KUBE-ROUTER-FORWARD
-F KUBE-ROUTER-INPUT
-X KUBE-NWPLCY-DEFAULT
-X KUBE-POD-FW-PP3HTF3BJBNQBLR2
-X KUBE-ROUTER-FORWARD
-X KUBE-ROUTER-INPUT
COMMIT
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if left := policyRemovals("-P INPUT ACCEPT\n-N DOCKER-USER\n-A INPUT -j DOCKER-USER\n"); left != "" {
		t.Errorf("where there is nothing of ours it does:\n%s", left)
	}
}

func TestPolicySets(t *testing.T) {
	got := policySets("KUBE-SRC-6NQRS2FPLY3EBCQK\ntheirs\nKUBE-DST-PNMSX6Z2OZKEXKWA\n")
	if !slices.Equal(got, []string{"KUBE-SRC-6NQRS2FPLY3EBCQK", "KUBE-DST-PNMSX6Z2OZKEXKWA"}) {
		t.Errorf("got %v", got)
	}
}
