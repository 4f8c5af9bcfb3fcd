// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// rescued is the etcd that is started on the copied data of a member that does not run. It elects itself, and has its clients show the
// certificates that were made for this Pod: authentication, if the data has it, knows root by that.
func rescued(image string, database resource.Quantity) corev1.Container {
	c := trial(image, database)
	server := path.Join(jobspec.ScratchFolder, jobspec.ScratchServer)
	endpoint := "https://" + jobspec.TrialAddress
	c.Args = []string{
		"--name=" + jobspec.TrialMember, "--data-dir=" + path.Join(jobspec.ScratchFolder, jobspec.ScratchData), "--force-new-cluster",
		"--listen-client-urls=" + endpoint, "--advertise-client-urls=" + endpoint,
		"--cert-file=" + path.Join(server, "tls.crt"), "--key-file=" + path.Join(server, "tls.key"),
		"--trusted-ca-file=" + path.Join(server, "ca.crt"), "--client-cert-auth",
		"--listen-peer-urls=" + jobspec.TrialPeerURL, "--initial-advertise-peer-urls=" + jobspec.TrialPeerURL,
		"--initial-cluster=" + jobspec.TrialMember + "=" + jobspec.TrialPeerURL,
		"--quota-backend-bytes=17179869184", "--unsafe-no-fsync=true", "--log-level=warn",
	}
	return c
}
