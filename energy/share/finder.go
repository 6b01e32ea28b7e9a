package share

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Guest is a virtual machine that runs.
type Guest struct {
	// Name is what it is called, that of a file (checkName).
	Name string
	// CPU is the CPU time that it has taken, its emulator's included.
	CPU time.Duration
	// VCPUs is how many virtual CPUs it has, at least 1.
	VCPUs int
	// Instance distinguishes one start of a guest from another: CPU times of two don't compare.
	Instance uint64
}

// Mode selects how guests are found. The zero value is Auto.
type Mode string

const (
	// Auto finds them by control groups, or of a machine that has none of guests by
	// processes.
	Auto Mode = "auto"
	// ByCgroup finds the control groups that libvirt makes of guests, with systemd or
	// without. They show CPU time to the microsecond, and root alone makes them.
	ByCgroup Mode = "cgroup"
	// ByProcess finds processes of QEMU that name a guest (-name guest=NAME). They show
	// CPU time to a hundredth of a second, and any user of the machine may start one.
	ByProcess Mode = "process"
)

// FinderConfig describes where guests are. The zero value is this machine's.
type FinderConfig struct {
	Mode Mode
	// ProcRoot and CgroupRoot are where proc and the control groups are mounted; ""
	// means /proc and /sys/fs/cgroup.
	ProcRoot, CgroupRoot string
}

// Why a guest was refused, for a metric's label.
const (
	// refusedName is a name that is no file's.
	refusedName = "name"
	// refusedDuplicate is a second guest of a name: that which runs for longer has it.
	refusedDuplicate = "duplicate"
	// refusedTooMany is a guest that came when there were maxGuests.
	refusedTooMany = "too_many"
	// refusedGone is one that ended while it was looked at.
	refusedGone = "gone"
	// refusedMalformed is a file of the kernel's of another form, or that can't be read.
	refusedMalformed = "malformed"
)

// Finder finds the guests of a machine. It is for one goroutine.
type Finder struct {
	config  FinderConfig
	looks   uint64
	refused map[string]uint64
	cgroups cgroupGuests
	procs   processGuests
	buffer  []byte
	found   []candidate
}

// candidate is a guest that was found; the lower its order, the longer it has run.
type candidate struct {
	Guest
	order uint64
}

// rounds is in how many looks all is looked at again that was no guest before: a process
// may become one, or another of its number.
const rounds = 10

// NewFinder returns a finder that has not looked yet. The error is an *field.Error.
func NewFinder(c FinderConfig) (*Finder, error) {
	c.Mode = cmp.Or(c.Mode, Auto)
	if !slices.Contains([]Mode{Auto, ByCgroup, ByProcess}, c.Mode) {
		return nil, refuse("Mode", c.Mode, "one of auto, cgroup, process")
	}
	c.ProcRoot, c.CgroupRoot = cmp.Or(c.ProcRoot, "/proc"), cmp.Or(c.CgroupRoot, "/sys/fs/cgroup")
	return &Finder{
		config: c, refused: map[string]uint64{}, buffer: make([]byte, maxCommand),
		cgroups: newCgroupGuests(), procs: newProcessGuests(),
	}, nil
}

// Refused counts by cause what looked like a guest and was none, each time that it was looked at.
// The map belongs to the Finder.
func (f *Finder) Refused() map[string]uint64 { return f.refused }

func (f *Finder) refuse(cause string) { f.refused[cause]++ }

// GuestsTo puts the guests that run into dst, sorted by name, in the place of what it holds;
// dst grows as append does and is returned. One that can't be read is left out and counted.
// The error is of a machine that can't be looked at, and dst is then empty.
func (f *Finder) GuestsTo(dst []Guest) ([]Guest, error) {
	dst = dst[:0]
	f.looks++
	f.found = f.found[:0]
	var err error
	if f.config.Mode != ByProcess {
		err = f.findCgroups()
	}
	if f.config.Mode == ByProcess || f.config.Mode == Auto && len(f.found) == 0 {
		err = f.findProcesses()
	}
	if err != nil {
		return dst, err
	}
	slices.SortFunc(f.found, func(a, b candidate) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.order, b.order), cmp.Compare(a.Instance, b.Instance))
	})
	for _, c := range f.found {
		if len(dst) > 0 && dst[len(dst)-1].Name == c.Name {
			f.refuse(refusedDuplicate)
			continue
		}
		dst = append(dst, c.Guest)
	}
	return dst, nil
}

// read returns what a file of the kernel's holds, at most as much as the buffer, whose it
// is.
func (f *Finder) read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	n, err := io.ReadFull(file, f.buffer)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return f.buffer[:n], err
}

// maxCommand bounds what is read of a command line.
const maxCommand = 128 << 10

// isGone reports whether a process, or a control group, has ended.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.ENODEV)
}

// refuseRead counts a file that can't be read.
func (f *Finder) refuseRead(err error) {
	if isGone(err) {
		f.refuse(refusedGone)
		return
	}
	f.refuse(refusedMalformed)
}

// hash makes a number of a text, FNV-1a of 64 bits.
func hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(text); i++ {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}
