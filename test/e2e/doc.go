// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the operator on a real cluster, through faults.
//
// Each spec is named after what must be true; the numbers of faults are those of
// docs/faults.md. The operator is the real program in a process of its own, which
// can be killed like one, and talks to the API server through a proxy, which can
// fail like one.
//
// Files whose names end in _test.go have specs and nothing else, the others what specs are written with.
package e2e
