package share

import "time"

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
