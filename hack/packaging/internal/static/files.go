// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package static is what the operator's image has under the program, whether ko builds it or the Dockerfile.
package static

import "github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"

// User is the one that distroless images have used for years; Pod Security "restricted" wants it as a number.
const User = 65532

// Home is the only folder of the user.
const Home = "home/nonroot/"

// Files is everything in the base image. The operator is one static binary: it needs a user, a group and a /tmp.
var Files = []oci.File{
	{Name: "etc/", Mode: 0o755},
	{Name: "etc/group", Mode: 0o644, Content: []byte("root:x:0:\nnonroot:x:65532:\n")},
	{Name: "etc/nsswitch.conf", Mode: 0o644, Content: []byte("hosts: files dns\n")},
	{Name: "etc/passwd", Mode: 0o644, Content: []byte(
		"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
	{Name: "home/", Mode: 0o755},
	{Name: Home, Mode: 0o755, Owner: User, Group: User},
	{Name: "tmp/", Mode: 0o1777},
}
