package cluster

// A Comparison is one of the data of all voters, by their hashes at one revision. It is empty if none was made at this look.
type Comparison struct {
	Revision int64
	Members  []string // that were compared, by serial number
	Differ   bool     // not all have the same data
	First    bool     // of those that differ: the comparison before did not find that
	Unknown  string   // why it is not known whether they do; empty if it is
	Message  string   // whose data differs, or that no majority has the same
	Request  string   // what the annotation that asks for a comparison has
}

// IsMade says whether members were compared.
func (c Comparison) IsMade() bool { return len(c.Members) > 0 }

// differ says whether hashes that can be compared are not all the same.
func differ(hashes []Hash) bool {
	for _, h := range hashes {
		if h.Sum != hashes[0].Sum {
			return true
		}
	}
	return false
}

// Compare compares the data of voters: whose data is not that of a majority, and what there is to say of all.
func Compare(hashes []Hash, revision int64) (odd []string, c Comparison) {
	c.Revision = revision
	for _, h := range hashes {
		c.Members = append(c.Members, h.Member)
	}
	odd, unknown := Odd(hashes)
	switch {
	case unknown == "" && len(odd) == 0:
	case unknown == "":
		c.Differ, c.Message = true, "the data of "+odd[0]+" is not that of the other voters ("+hashTexts(hashes)+")"
	case isComparable(hashes) && differ(hashes):
		c.Differ, c.Message = true, unknown
	default:
		c.Unknown = unknown
	}
	return odd, c
}

// isComparable says whether all hashes were read, after the same compaction.
func isComparable(hashes []Hash) bool {
	for _, h := range hashes {
		if h.Unread != "" || h.Compacted != hashes[0].Compacted {
			return false
		}
	}
	return true
}
