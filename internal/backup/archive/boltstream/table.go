// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package boltstream

// kind is what a page can be for the way to the last key.
type kind uint8

const (
	other    kind = iota // free, or of a bucket that does not matter
	branch               // value: its last child
	empty                // a leaf without a key
	revision             // a leaf whose last key has the form of etcd's; value: the main revision
)

// row is what is kept of each page: 16 bytes.
type row struct {
	value uint64
	kind  kind
}

// table has a row for each page that has passed. It grows by blocks, so that it is never copied: what a meta
// page says of the number of pages is not trusted.
type table struct {
	blocks []*[block]row
	length uint64
}

const block = 1 << 14

func (t *table) add(r row) {
	at := t.length % block
	if at == 0 {
		t.blocks = append(t.blocks, new([block]row))
	}
	t.blocks[len(t.blocks)-1][at] = r
	t.length++
}

func (t *table) set(id uint64, r row) { t.blocks[id/block][id%block] = r }

func (t *table) get(id uint64) (row, bool) {
	if id >= t.length {
		return row{}, false
	}
	return t.blocks[id/block][id%block], true
}

// capture is a key to be read when it passes: that of a leaf with values that are larger than the window.
type capture struct {
	page   uint64 // of the leaf
	offset int    // in the page in which the key lies
	size   int
}

// look notes what matters of one page; the slice begins with it.
func (p *Parser) look(id uint64, content page) {
	p.pages.add(p.summary(id, content))
	for _, c := range p.pending[id] {
		if main, ok := mainRevision(content.bytes(c.offset, c.offset+c.size)); ok {
			p.pages.set(c.page, row{kind: revision, value: uint64(main)})
		}
	}
	delete(p.pending, id)
}

func (p *Parser) summary(id uint64, content page) row {
	count := content.count()
	switch {
	case content.id() != id || !content.whole():
		return row{}
	case content.flags() == branchFlag && count > 0:
		p.roots.branch(id, p.meta.root, content)
		return row{kind: branch, value: content.child(count - 1)}
	case content.flags() == leafFlag && count == 0:
		return row{kind: empty}
	case content.flags() == leafFlag:
		p.roots.leaf(id, p.meta.root, content)
		return p.lastKey(id, content)
	}
	return row{}
}

// lastKey reads it, or arranges for it to be read when it comes by.
func (p *Parser) lastKey(id uint64, content page) row {
	last := content.entry(content.count() - 1)
	size := last.value - last.key
	if last.bucket || size != keySize && size != tombstoneSize {
		return row{}
	}
	if key := content.bytes(last.key, last.value); key != nil {
		if main, ok := mainRevision(key); ok {
			return row{kind: revision, value: uint64(main)}
		}
		return row{}
	}
	within := uint64(last.key) / uint64(p.meta.pageSize)
	if within == 0 || within > content.overflow() {
		return row{}
	}
	if p.pending == nil {
		p.pending = map[uint64][]capture{}
	}
	p.pending[id+within] = append(p.pending[id+within], capture{page: id, offset: last.key % p.meta.pageSize, size: size})
	return row{}
}

// lastRevision follows the last children of the bucket "key" down to its last key.
func (p *Parser) lastRevision(found buckets) (int64, error) {
	if found.keyRoot == 0 {
		return found.keyLast, nil
	}
	id := found.keyRoot
	// A tree of depth 64 would have more pages than numbers.
	for range 64 {
		r, ok := p.pages.get(id)
		switch {
		case !ok:
			return 0, damaged("page %d of the keys is not in it", id)
		case r.kind == revision:
			return int64(r.value), nil
		case r.kind == empty && id == found.keyRoot:
			return 0, nil
		case r.kind != branch:
			return 0, damaged("page %d is not one of keys", id)
		}
		id = r.value
	}
	return 0, damaged("the pages of the keys are no tree")
}
