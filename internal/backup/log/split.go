// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log

// Split cuts a plan at the newest hash that is known on its way: what leads up to the revision of the hash, where it can be compared, and
// what leads on to the target. The hash is nil if there is none; then all of the plan is in rest.
func (p Plan) Split() (first Plan, hash *HashKV, rest Plan) {
	rest = p
	for _, s := range p.Segments {
		h := s.Header.Hash
		if h != nil && h.Revision > p.Base.Revision && p.surelyHas(h.Revision) && (hash == nil || h.Revision > hash.Revision) {
			hash = h
		}
	}
	if hash == nil {
		return Plan{}, nil, rest
	}
	first = Plan{Base: p.Base, Target: Target{Revision: hash.Revision}}
	rest.Base, rest.Segments = Base{Revision: hash.Revision}, nil
	for _, s := range p.Segments {
		if s.Header.First.Revision <= hash.Revision {
			first.Segments = append(first.Segments, s)
		}
		if s.Header.Next().Compare(Position{hash.Revision + 1, 0}) > 0 {
			rest.Segments = append(rest.Segments, s)
		}
	}
	return first, hash, rest
}

// surelyHas says whether a revision is not after the target. Of a time that is known of what is before the last segment alone.
func (p Plan) surelyHas(revision int64) bool {
	if last, isRevision := p.Target.last(); isRevision {
		return revision <= last
	}
	return revision < p.Segments[len(p.Segments)-1].Header.First.Revision
}

// Size is how many bytes of changes the plan has, before compression.
func (p Plan) Size() (bytes int64) {
	for _, s := range p.Segments {
		bytes += s.Header.Size
	}
	return bytes
}
