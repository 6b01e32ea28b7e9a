package source

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
)

// PowercapConfig describes where the counters are. The zero value is this machine's.
type PowercapConfig struct {
	// Root is the tree; "" means /sys/class/powercap.
	Root string
	// Zones is what the machine's power is the sum of. Psys on a machine without it
	// means PackageDRAM.
	Zones Zones
}

// Powercap reads RAPL's counters. Files stay open; the tree is listed anew each minute
// and after a file could not be read, for processors come and go.
type Powercap struct {
	about
	config PowercapConfig
	zones  []zone
	files  []counterFile
	absent error // of zones that are there and can't be read
	dirs   []string
	shown  []int // which of zones each reading is of
	listed time.Time
	buffer [maxText]byte
}

// relist is how often the tree is looked at for what has come.
const relist = time.Minute

// NewPowercap finds the zones of the tree. The error is a *field.Error, or wraps
// ErrNoPower or ErrNotPermitted.
func NewPowercap(c PowercapConfig) (*Powercap, error) {
	if int(c.Zones) >= len(zonesNames) {
		return nil, invalid("Zones", uint8(c.Zones), "PackageDRAM or Psys")
	}
	c.Root = cmp.Or(c.Root, "/sys/class/powercap")
	// Hardware counts about each millisecond.
	p := &Powercap{about: about{"powercap", energy.Measured, time.Millisecond}, config: c}
	if err := p.open(); err != nil {
		return nil, err
	}
	return p, nil
}

// Close implements Source.
func (p *Powercap) Close() error {
	var errs []error
	for _, f := range p.files {
		errs = append(errs, f.file.Close())
	}
	p.zones, p.files = nil, nil
	return errors.Join(errs...)
}

// open lists the tree and opens the counters of the first driver of which one can be read.
func (p *Powercap) open() (err error) {
	if p.dirs, err = zoneDirs(p.config.Root); err != nil {
		return err
	}
	drivers := byDriver(p.dirs)
	for _, dirs := range drivers[:len(drivers)-1] {
		if p.openDriver(dirs) == nil && p.reads() {
			return nil
		}
		_ = p.Close() // files that were read alone
	}
	return p.openDriver(drivers[len(drivers)-1])
}

// reads reports whether a counter that is summed can be read.
func (p *Powercap) reads() bool {
	for i := range p.zones {
		if _, err := p.files[i].read(p.buffer[:]); err == nil && !p.zones[i].part {
			return true
		}
	}
	return false
}

// openDriver opens each counter of a driver; zones that can't be read are left out, of all the
// error is returned. A part that is left out is missing from no sum, and no error.
func (p *Powercap) openDriver(dirs []string) error {
	zones, err := findZones(p.config.Root, dirs, p.config.Zones)
	refused, parts := []error{err}, []error(nil)
	for _, z := range zones {
		f, err := openCounter(filepath.Join(z.dir, "energy_uj"))
		switch {
		case err == nil:
			p.zones, p.files = append(p.zones, z), append(p.files, f)
		case z.part:
			parts = append(parts, err)
		default:
			refused = append(refused, err)
		}
	}
	p.absent = errors.Join(refused...)
	if len(p.zones) == 0 {
		return errors.Join(p.absent, errors.Join(parts...))
	}
	return nil
}

// follow lists the tree anew if it is time to, and opens it again if it has changed.
func (p *Powercap) follow(at time.Time) {
	if p.listed.IsZero() {
		p.listed = at
	}
	if at.Sub(p.listed) < relist {
		return
	}
	p.listed = at
	if dirs, err := zoneDirs(p.config.Root); err == nil && !slices.Equal(dirs, p.dirs) {
		_ = p.Close() // files that were read alone
	}
}

// ReadTo implements Source.
func (p *Powercap) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	dst = dst[:0]
	p.follow(at)
	if len(p.zones) == 0 {
		if err := p.open(); err != nil {
			return dst, err
		}
	}
	p.shown = p.shown[:0]
	var failed, parts []error
	for i := range p.zones {
		z := &p.zones[i]
		v, err := p.files[i].read(p.buffer[:])
		switch {
		case err != nil && z.part:
			parts = append(parts, err)
			continue
		case err != nil:
			failed = append(failed, err)
			continue
		}
		r := energy.Reading{Zone: z.name, Counter: v, Range: z.limit, Part: z.part, MaxWatts: z.watts, At: at}
		r.Part = r.Part || p.mirrored(dst, &r, z.twin)
		dst, p.shown = append(dst, r), append(p.shown, i)
	}
	if len(dst) == 0 {
		failed = append(failed, parts...)
	}
	if len(failed) == 0 {
		return dst, p.absent
	}
	return dst, errors.Join(append(failed, p.absent, p.Close())...)
}

// mirrored reports whether one of the readings before r is of the same counter, as where each
// die of a package shows that of the package: it is summed once.
func (p *Powercap) mirrored(before []energy.Reading, r *energy.Reading, twin string) bool {
	for i := range before {
		other := p.shown[i]
		if p.zones[other].twin != twin || before[i].Part {
			continue
		}
		if mirrors(&before[i], r, func() (uint64, error) { return p.files[other].read(p.buffer[:]) }) {
			return true
		}
	}
	return false
}
