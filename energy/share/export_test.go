package share

import (
	"maps"
	"slices"
	"time"
)

// What tests hold against naive twins.

func ParseStat(text []byte) (cpu time.Duration, start uint64, ended bool, err error) {
	s, err := parseStat(text)
	return s.cpu, s.start, s.ended, err
}

var (
	ParseCommand = parseCommand
	ParseScope   = parseScope
	ParseUsage   = parseUsage
)

const (
	MaxGuests = maxGuests
)

var (
	ErrName      = errName
	ErrTooMany   = errTooMany
	ErrNotTmpfs  = errNotTmpfs
	ErrMalformed = errMalformed
	CheckName    = checkName
)

type (
	Look = look
	Tree = tree
)

var (
	NewTree = newTree
)

const (
	Range = counterRange
)

// Published are the names of the guests that have a tree, sorted.
func (h *Host) Published() []string { return slices.Sorted(maps.Keys(h.seen)) }
