// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package boltstream

import "encoding/binary"

// buckets is what a leaf of the root bucket says of the buckets that matter.
type buckets struct {
	hasKey  bool
	keyRoot uint64 // page of the bucket "key"; 0 if the bucket is small and kept right here
	keyLast int64  // its last revision then
	values  values
	broken  string // what cannot be followed, in words
}

// values are those of the buckets "meta" and "cluster". bbolt keeps a bucket of up to a quarter page in its parent.
type values struct {
	scheduled, finished int64 // compactions
	index               uint64
	storage, cluster    string
}

// roots are the leaves of the root bucket. There may be many that are old, so that they are kept only until
// the root has passed, which shows which of them matter. A root of etcd's has two levels at most: eleven names
// and little more than a page of content.
type roots struct {
	passed   bool
	children []uint64 // of the root, if it is a branch
	leaves   map[uint64]buckets
}

func (r *roots) branch(id, root uint64, content page) {
	if id != root {
		return
	}
	wanted := map[uint64]buckets{}
	for i := range content.count() {
		child := content.child(i)
		r.children = append(r.children, child)
		if leaf, ok := r.leaves[child]; ok {
			wanted[child] = leaf
		}
	}
	r.passed, r.leaves = true, wanted
}

func (r *roots) leaf(id, root uint64, content page) {
	if id == root {
		r.passed, r.children, r.leaves = true, []uint64{id}, nil
	}
	if r.passed && !r.wants(id) || !content.entry(0).bucket {
		return
	}
	if r.leaves == nil {
		r.leaves = map[uint64]buckets{}
	}
	r.leaves[id] = bucketsIn(content)
}

func (r *roots) wants(id uint64) bool {
	for _, child := range r.children {
		if child == id {
			return true
		}
	}
	return false
}

// buckets joins what the leaves of the root say.
func (p *Parser) buckets() (buckets, error) {
	var all buckets
	if r, ok := p.pages.get(p.meta.root); ok && r.kind == empty {
		return all, ErrNotEtcd
	}
	if !p.roots.passed {
		return all, damaged("page %d is not a root", p.meta.root)
	}
	for _, id := range p.roots.children {
		leaf, ok := p.roots.leaves[id]
		switch {
		case !ok:
			return all, damaged("page %d is not one of the root", id)
		case leaf.broken != "":
			return all, damaged("%s", leaf.broken)
		}
		all.join(leaf)
	}
	if !all.hasKey {
		return all, ErrNotEtcd
	}
	return all, nil
}

func (b *buckets) join(leaf buckets) {
	if leaf.hasKey {
		b.hasKey, b.keyRoot, b.keyLast = true, leaf.keyRoot, leaf.keyLast
	}
	b.values.scheduled = max(b.values.scheduled, leaf.values.scheduled)
	b.values.finished = max(b.values.finished, leaf.values.finished)
	b.values.index = max(b.values.index, leaf.values.index)
	b.values.storage += leaf.values.storage // one of them has it
	b.values.cluster += leaf.values.cluster
}

func bucketsIn(content page) buckets {
	var b buckets
	for i := range content.count() {
		e := content.entry(i)
		name, value := string(content.bytes(e.key, e.value)), page(content.bytes(e.value, e.end))
		if name != "key" && name != "meta" && name != "cluster" {
			continue
		}
		if len(value) < bucketHeader {
			b.broken = "bucket " + name + " is not whole"
			return b
		}
		b.bucket(name, u64(value), value[bucketHeader:])
	}
	return b
}

// bucket notes one of the three. Its root is 0 if its only page is kept in its parent.
func (b *buckets) bucket(name string, root uint64, inline page) {
	switch {
	case root == 0 && (len(inline) < pageHeader || !inline.whole()):
		b.broken = "bucket " + name + " is not whole"
	case name == "key":
		b.hasKey, b.keyRoot = true, root
		if root == 0 {
			b.smallKeys(inline)
		}
	case root != 0:
		b.broken = "bucket " + name + " is larger than etcd makes it"
	default:
		for i := range inline.count() {
			e := inline.entry(i)
			b.values.set(name+"/"+string(inline.bytes(e.key, e.value)), inline.bytes(e.value, e.end))
		}
	}
}

func (b *buckets) smallKeys(inline page) {
	if inline.count() == 0 {
		return
	}
	last := inline.entry(inline.count() - 1)
	main, ok := mainRevision(inline.bytes(last.key, last.value))
	if !ok {
		b.broken = "the last key is not a revision"
	}
	b.keyLast = main
}

func (v *values) set(name string, value []byte) {
	switch name {
	case "meta/scheduledCompactRev":
		v.scheduled, _ = mainRevision(value)
	case "meta/finishedCompactRev":
		v.finished, _ = mainRevision(value)
	case "meta/consistent_index":
		if len(value) == 8 {
			v.index = binary.BigEndian.Uint64(value)
		}
	case "meta/storageVersion":
		v.storage = string(value)
	case "cluster/clusterVersion":
		v.cluster = string(value)
	}
}
