package source

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
)

// SharedPeriod is how often a host publishes: no oftener, for what a guest can see of
// the others must be coarse.
const SharedPeriod = time.Second

// shared reads the powercap tree that a host publishes for a guest. A host writes each
// counter's file anew and sets its modification time to when it sampled; so a file is
// opened at each reading, and its time is the reading's. What is written meanwhile is
// read the next time: zones of unlike times make no reading.
//
// A zone is the guest's part of the whole machine, so that its bound is a machine's.
//
// The host's clock need not be the guest's: only its differences count.
type shared struct {
	about
	root    string
	newest  time.Time // of the tree
	changed time.Time // by the guest's clock
}

// newShared reads the tree at root/class/powercap; "" means /var/lib/spazio/power.
func newShared(root string) (*shared, error) {
	root = cmp.Or(root, "/var/lib/spazio/power")
	s := &shared{about: about{"shared", energy.Shared, SharedPeriod}, root: filepath.Join(root, "class", "powercap")}
	if zones, err := s.zones(); len(zones) == 0 {
		return nil, err
	}
	return s, nil
}

// Close implements Source.
func (s *shared) Close() error { return nil }

func (s *shared) zones() ([]zone, error) {
	dirs, err := zoneDirs(s.root)
	if err != nil {
		return nil, err
	}
	return findZones(s.root, byDriver(dirs)[0], PackageDRAM)
}

// ReadTo implements Source. It is ErrUnchanged where the host has published nothing
// since the last look, as at the first, and after three periods of that ErrStale.
func (s *shared) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	dst = dst[:0]
	zones, err := s.zones()
	refused := []error{err}
	for _, z := range zones {
		v, sampled, err := readPublished(filepath.Join(z.dir, "energy_uj"))
		if err != nil {
			refused = append(refused, err)
			continue
		}
		dst = append(dst, energy.Reading{Zone: z.name, Counter: v, Range: z.limit, Part: z.part, MaxWatts: energy.MaxMachineWatts, At: sampled})
	}
	if len(dst) == 0 {
		return dst, errors.Join(refused...)
	}
	if err := s.follow(dst, at); err != nil {
		return dst[:0], err
	}
	return dst, errors.Join(refused...)
}

// follow reports whether readings are newer than the last and of one time.
func (s *shared) follow(readings []energy.Reading, at time.Time) error {
	sampled := readings[0].At
	same := true
	for _, r := range readings {
		same = same && r.At.Equal(sampled)
	}
	switch {
	case s.changed.IsZero(): // the first look can't show how old it is
		s.newest, s.changed = sampled, at
	case same && !sampled.Equal(s.newest):
		s.newest, s.changed = sampled, at
		return nil
	}
	if at.Sub(s.changed) > 3*SharedPeriod {
		return errStale
	}
	return ErrUnchanged
}

// readPublished reads a counter and when it was sampled, of one and the same file.
func readPublished(path string) (uint64, time.Time, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, time.Time{}, fileError(path, err)
	}
	defer f.Close()
	v, err := counterFile{path, f}.read(make([]byte, maxText))
	if err != nil {
		return 0, time.Time{}, err
	}
	about, err := f.Stat()
	if err != nil {
		return 0, time.Time{}, fileError(path, err)
	}
	return v, about.ModTime(), nil
}
