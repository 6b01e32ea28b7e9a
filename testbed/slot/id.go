package slot

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
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

// PlaceholderName is the name of a slot's placeholder: one slot of one testbed has one, so that
// a creation from a stale view meets what is already there. uid is the testbed's.
func PlaceholderName(uid string, id ID) string {
	return fmt.Sprintf("placeholder-%s-%s-%d", eight(uid), hash(id.Node), id.Position)
}

// eight returns the first 8 hexadecimal digits of a UID as an API server makes them,
// and of any other its hash.
func eight(uid string) string {
	const digits = 8
	if len(uid) >= digits && strings.Trim(uid[:digits], "0123456789abcdef") == "" {
		return uid[:digits]
	}
	return hash(uid)
}

// hash returns 8 hexadecimal digits of FNV-1a.
func hash(text string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // never fails
	return fmt.Sprintf("%08x", h.Sum32())
}
