package source

import (
	"time"

	"github.com/spazio-scheduler/spazio/energy"
)

// Source shows what a machine takes. It is for one goroutine.
type Source interface {
	// Name is a word for it, for a metric's label.
	Name() string
	// Quality is what its power rests on.
	Quality() energy.Quality
	// Period is the least time between two readings that differ.
	Period() time.Duration
	// ReadTo puts a reading of each zone into dst, in the place of what it holds; dst grows
	// as append does and is returned. at is the time; a zone whose own time is known has
	// that. An error beside readings is of zones that are missing from them; without any
	// it wraps ErrUnchanged, or the source has failed.
	ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error)
	// Close ends what the source has begun.
	Close() error
}

// about is what a source is, as Source has it.
type about struct {
	name    string
	quality energy.Quality
	period  time.Duration
}

// Name implements Source.
func (a *about) Name() string { return a.name }

// Quality implements Source.
func (a *about) Quality() energy.Quality { return a.quality }

// Period implements Source.
func (a *about) Period() time.Duration { return a.period }

// Zones selects which zones a machine's power is the sum of.
type Zones uint8

const (
	// PackageDRAM are the processors' packages and their memory.
	PackageDRAM Zones = iota
	// Psys is the platform as the processor sees it, where it does: packages, memory
	// and more.
	Psys
)

var zonesNames = [...]string{"package,dram", "psys"}

// String returns the zones' names.
func (z Zones) String() string {
	if int(z) < len(zonesNames) {
		return zonesNames[z]
	}
	return "unknown"
}

// MarshalText writes the zones' names.
func (z Zones) MarshalText() ([]byte, error) {
	if int(z) >= len(zonesNames) {
		return nil, invalid("Zones", uint8(z), "package,dram or psys")
	}
	return []byte(zonesNames[z]), nil
}

// UnmarshalText reads them.
func (z *Zones) UnmarshalText(text []byte) error {
	for i, name := range zonesNames {
		if name == string(text) {
			*z = Zones(i)
			return nil
		}
	}
	return invalid("Zones", string(text), "package,dram or psys")
}
