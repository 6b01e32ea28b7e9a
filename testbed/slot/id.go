package slot

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/testbed"
)

// Limits of a testbed. MaxPerNode is how many pods kubelet takes by default.
const (
	MaxPerNode = 110
	MaxNodes   = 2000
	MaxSlots   = 5000
)

// ID names a slot for good: the node and the slot's position on it, from 0. The
// zero value names none. It is a value, and may be a map's key.
type ID struct {
	Node     string
	Position int
}

// String is NODE/POSITION.
func (id ID) String() string { return id.Node + "/" + strconv.Itoa(id.Position) }

// Compare orders by node's name, then by position.
func (id ID) Compare(other ID) int {
	return cmp.Or(strings.Compare(id.Node, other.Node), cmp.Compare(id.Position, other.Position))
}

// MarshalText is String.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is ParseID.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// maxNodeName is the longest name of a node (RFC 1123's of a subdomain).
const maxNodeName = 253

// ParseID reads what String writes, and nothing else: one slot has one spelling. The error
// is a *field.Error.
func ParseID(text string) (ID, error) {
	node, position, ok := strings.Cut(text, "/")
	if !ok || node == "" || len(node) > maxNodeName {
		return ID{}, testbed.Refuse("ID", text, "NODE/POSITION")
	}
	p, ok := parseIndex(position)
	if !ok || p >= MaxPerNode {
		return ID{}, testbed.Refuse("ID", text, fmt.Sprintf("NODE/POSITION, the position below %d", MaxPerNode))
	}
	return ID{Node: node, Position: p}, nil
}

// parseIndex reads a decimal number without sign or leading zeros.
func parseIndex(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0, false
	}
	return int(n), true
}

// Ref names a slot as a scheduling does: by its identity or, if ID is zero, by its
// index, which means another slot once nodes have come or gone. The zero value is
// index 0.
type Ref struct {
	ID    ID
	Index int
}

// String is NODE/POSITION or the index.
func (r Ref) String() string {
	if r.ID != (ID{}) {
		return r.ID.String()
	}
	return strconv.Itoa(r.Index)
}

// ParseRef reads what String writes. The error is a *field.Error.
func ParseRef(text string) (Ref, error) {
	if n, ok := parseIndex(text); ok {
		return Ref{Index: n}, nil
	}
	id, err := ParseID(text)
	if err != nil {
		return Ref{}, testbed.Refuse("Ref", text, "an index or NODE/POSITION")
	}
	return Ref{ID: id}, nil
}

// MarshalJSON writes a number for an index and a string for an identity.
func (r Ref) MarshalJSON() ([]byte, error) {
	if r.ID == (ID{}) {
		return strconv.AppendInt(nil, int64(r.Index), 10), nil
	}
	return json.Marshal(r.ID.String())
}

// UnmarshalJSON reads a number or a string that ParseRef takes.
func (r *Ref) UnmarshalJSON(data []byte) error {
	text := string(data)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	parsed, err := ParseRef(text)
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}

// GhostName is the name of a slot's ghost: one slot of one testbed has one, so that
// a creation from a stale view meets what is already there. uid is the testbed's.
func GhostName(uid string, id ID) string {
	name := make([]byte, 0, 32)
	name = append(name, "ghost-"...)
	name = append(name, eight(uid)...)
	name = append(name, '-')
	name = appendHash(name, id.Node)
	name = append(name, '-')
	return string(strconv.AppendInt(name, int64(id.Position), 10))
}

// eight returns the first 8 hexadecimal digits of a UID as an API server makes them,
// and of any other its hash.
func eight(uid string) string {
	const digits = 8
	if len(uid) >= digits && strings.Trim(uid[:digits], "0123456789abcdef") == "" {
		return uid[:digits]
	}
	return string(appendHash(nil, uid))
}

// appendHash appends 8 hexadecimal digits of FNV-1a. (hash/fnv allocates; a table
// names thousands of ghosts at once.)
func appendHash(dst []byte, text string) []byte {
	hash := uint32(2166136261)
	for i := range len(text) {
		hash = (hash ^ uint32(text[i])) * 16777619
	}
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789abcdef"[hash>>shift&15])
	}
	return dst
}
