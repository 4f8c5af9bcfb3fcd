// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// volumeOf is the folder on this machine where a member's volume is mounted.
func volumeOf(c *v1beta1.EtcdCluster, member string) string {
	GinkgoHelper()
	var claim corev1.PersistentVolumeClaim
	Expect(api.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: member}, &claim)).To(Succeed())
	var volume corev1.PersistentVolume
	Expect(api.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, &volume)).To(Succeed())
	Expect(volume.Spec.Local).NotTo(BeNil())
	return volume.Spec.Local.Path
}

// dataOf is a member's data directory as etcd lays it out: wal and snap.
func dataOf(c *v1beta1.EtcdCluster, member string) string {
	GinkgoHelper()
	return filepath.Join(volumeOf(c, member), "data", "member")
}

// lastLog is the newest file of a member's write-ahead log.
func lastLog(c *v1beta1.EtcdCluster, member string) string {
	GinkgoHelper()
	files, err := filepath.Glob(filepath.Join(dataOf(c, member), "wal", "*.wal"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).NotTo(BeEmpty())
	return files[len(files)-1]
}

// records are where the records of a write-ahead log begin, and where the next one
// would. Each is a length, whose highest byte counts the padding, then the bytes;
// zeros follow the last, because the file is made long beforehand.
func records(file string) []int64 {
	GinkgoHelper()
	log, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	begins := []int64{0}
	for at := int64(0); at+8 <= int64(len(log)); {
		head := binary.LittleEndian.Uint64(log[at:])
		if head == 0 {
			break
		}
		padding := int64(0)
		if head>>63 == 1 {
			padding = int64(head >> 56 & 7) //nolint:gosec // three bits
		}
		at += 8 + int64(head&(1<<56-1)) + padding //nolint:gosec // a length in a file
		begins = append(begins, at)
	}
	Expect(len(begins)).To(BeNumerically(">", 10), "records in "+file)
	return begins
}

// overwrite puts bytes into a file, as a disk that fails would.
func overwrite(file string, at int64, with []byte) {
	GinkgoHelper()
	open, err := os.OpenFile(file, os.O_RDWR, 0)
	Expect(err).NotTo(HaveOccurred())
	defer open.Close()
	_, err = open.WriteAt(with, at)
	Expect(err).NotTo(HaveOccurred())
	Expect(open.Sync()).To(Succeed())
}

// flipBit turns one bit of a file over.
func flipBit(file string, at int64) {
	GinkgoHelper()
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	overwrite(file, at, []byte{text[at] ^ 4})
}

// exchange puts other bytes in the place of some, wherever they are in a file.
func exchange(file, old, other string) {
	GinkgoHelper()
	Expect(other).To(HaveLen(len(old)))
	content, err := os.ReadFile(filepath.Clean(file))
	Expect(err).NotTo(HaveOccurred())
	found := 0
	for at := bytes.Index(content, []byte(old)); at >= 0; at = bytes.Index(content, []byte(old)) {
		overwrite(file, int64(at), []byte(other))
		copy(content[at:], other)
		found++
	}
	Expect(found).To(BeNumerically(">", 0))
}

// putData gives a member the data of another, and kills it.
func putData(c *v1beta1.EtcdCluster, member, copied string) {
	GinkgoHelper()
	killAfter(c, member, func() {
		data := dataOf(c, member)
		Expect(os.RemoveAll(data)).To(Succeed())
		run("cp", "-a", "--sparse=always", copied, data)
	})
}

// fillDisk writes a file until the disk is full.
func fillDisk(file string) {
	GinkgoHelper()
	open, err := os.Create(filepath.Clean(file))
	Expect(err).NotTo(HaveOccurred())
	defer open.Close()
	for _, size := range []int{1 << 20, 4 << 10} {
		for chunk := make([]byte, size); err == nil; {
			_, err = open.Write(chunk)
		}
		Expect(err).To(MatchError(ContainSubstring("no space left on device")))
		err = nil
	}
}
