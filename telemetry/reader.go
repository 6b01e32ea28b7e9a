package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config describes what a Reader reads. The zero value is the default.
type Config struct {
	// ProcRoot, SysRoot and CgroupRoot are where proc, sysfs and the cgroups
	// are mounted; empty means /proc, /sys and /sys/fs/cgroup. Without cgroups
	// the Reader takes /proc/stat.
	ProcRoot, SysRoot, CgroupRoot string
	// Channels selects the channels beside cpu and memory.
	Channels Channels
	// CPU and Memory select what these two channels measure; empty means CPUHalf and
	// MemoryAvailable. Contention selects what counts as contention of the CPU; empty means
	// ContentionRunnable.
	CPU        CPUMode
	Contention CPUContention
	Memory     MemoryMode
	// Counter selects the counter behind CPU utilisation; empty means CounterAuto.
	Counter CPUCounter
	// LinkSpeed is in bytes/s each way and stands for that of every link; zero
	// means what each link's driver shows, which virtual ones often do not.
	LinkSpeed float64
	// MaxInterval is the longest time between two samples; a longer one drops
	// the sample. Zero means one second, ten periods at 10 Hz.
	MaxInterval time.Duration
}

const (
	defaultProcRoot    = "/proc"
	defaultSysRoot     = "/sys"
	defaultCgroupRoot  = "/sys/fs/cgroup"
	defaultMaxInterval = time.Second
)

// Validate returns a *FieldError for the first field out of range.
func (c Config) Validate() error {
	d := c.withDefaults()
	for _, err := range []error{
		oneOf("CPU", d.CPU, CPUHalf, CPUUtilisation, CPUContended),
		oneOf("Contention", d.Contention, ContentionRunnable, ContentionPressure),
		oneOf("Memory", d.Memory, MemoryAvailable, MemoryFree),
		oneOf("Counter", d.Counter, CounterAuto, CounterCgroup, CounterStat, CounterCpuacct),
	} {
		if err != nil {
			return err
		}
	}
	switch {
	case !(c.LinkSpeed >= 0) || math.IsInf(c.LinkSpeed, 1):
		return NewFieldError("LinkSpeed", c.LinkSpeed, "not a number of bytes/s")
	case c.MaxInterval < 0:
		return NewFieldError("MaxInterval", c.MaxInterval, "negative")
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.ProcRoot = cmp.Or(c.ProcRoot, defaultProcRoot)
	c.SysRoot = cmp.Or(c.SysRoot, defaultSysRoot)
	c.CgroupRoot = cmp.Or(c.CgroupRoot, defaultCgroupRoot)
	c.CPU = cmp.Or(c.CPU, CPUHalf)
	c.Contention = cmp.Or(c.Contention, ContentionRunnable)
	c.Memory = cmp.Or(c.Memory, MemoryAvailable)
	c.Counter = cmp.Or(c.Counter, CounterAuto)
	c.MaxInterval = cmp.Or(c.MaxInterval, defaultMaxInterval)
	return c
}

// Schema identifies the channels of a Reader. Values of different schemas must
// not be mixed: the same name may mean a different measure.
type Schema struct {
	// ID names the ordered channels with their options.
	ID string
	// Channels holds the names in the order of the values.
	Channels []string
}

// A channel is one value in [0,1]. sample returns it for the time at, and keeps
// what it read as the base of the next one even when it fails, so that after
// an error one good reading suffices.
type channel interface {
	name() string
	option() string
	size() float64
	sample(at time.Time) (float64, error)
	close()
}

// Reader reads one value per channel at each call. It keeps the files open and
// allocates nothing in a call that succeeds, except for a network interface that
// is new. It is not safe for concurrent use.
type Reader struct {
	schema   Schema
	channels []channel
	values   []float64
	pressure bool
	counter  CPUCounter
}

// NewReader opens the channels and reads each once, so that a machine that
// cannot be measured, or has not what was asked for, is known at the start. The
// error is a *FieldError or a *ChannelError; the latter's cause may be
// ErrNoPressure or ErrNoLinkSpeed.
func NewReader(c Config) (*Reader, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	r := &Reader{}
	if err := r.open(c); err != nil {
		r.Close()
		return nil, err
	}
	r.schema = schemaOf(r.channels)
	r.values = make([]float64, len(r.channels))
	return r, nil
}

// open adds the channels in schema order.
func (r *Reader) open(c Config) error {
	cpu, err := newCPU(c)
	if err != nil {
		return err
	}
	r.channels = append(r.channels, cpu)
	r.pressure, r.counter = cpu.mode == c.CPU, cpu.counter()

	memory, err := newMemory(c)
	if err != nil {
		return err
	}
	r.channels = append(r.channels, memory)
	if c.Channels.MemoryPressure {
		s, err := newStall(c, memoryPressureName, "memory")
		if err != nil {
			return err
		}
		r.channels = append(r.channels, s)
	}
	if c.Channels.IO {
		s, err := newStall(c, ioName, "io")
		if err != nil {
			return err
		}
		r.channels = append(r.channels, s)
	}
	if c.Channels.Network {
		n, err := newNetwork(c)
		if err != nil {
			return err
		}
		r.channels = append(r.channels, n)
	}
	return nil
}

// schemaVersion changes when a channel of the same name and option changes its
// meaning: since v2 steal is busy whatever the counter.
const schemaVersion = "v2"

func schemaOf(channels []channel) Schema {
	var id strings.Builder
	id.WriteString(schemaVersion)
	names := make([]string, len(channels))
	for i, c := range channels {
		names[i] = c.name()
		id.WriteString(";" + c.name() + "=" + c.option())
	}
	return Schema{ID: id.String(), Channels: names}
}

// Schema returns the channels. The CPU mode in its ID is the one in effect: a
// node that lacks the pressure asked for has the ID of utilisation alone.
func (r *Reader) Schema() Schema {
	return Schema{ID: r.schema.ID, Channels: append([]string(nil), r.schema.Channels...)}
}

// Sizes returns the whole of each channel as of the last sample, be it one that
// failed, in its absolute unit: online CPUs, bytes of memory, 1 for the time
// shares memory-pressure and io, and bytes/s of the fastest link (the last known
// while none is up). They change while the machine runs, as CPUs and memory are
// plugged and links come up. The sample that finds other CPUs or links fails with
// ErrResized; memory is a level, whose sample is of the new size already.
func (r *Reader) Sizes() []float64 { return r.SizesTo(nil) }

// SizesTo is Sizes in dst, grown as append does; nil allocates.
func (r *Reader) SizesTo(dst []float64) []float64 {
	dst = dst[:0]
	for _, c := range r.channels {
		dst = append(dst, c.size())
	}
	return dst
}

// Pressure is false only where the cpu channel is utilisation alone because the
// kernel lacks the pressure stall information asked for.
func (r *Reader) Pressure() bool { return r.pressure }

// Counter returns the counter behind CPU utilisation; it is never CounterAuto.
func (r *Reader) Counter() CPUCounter { return r.counter }

// SampleTo stores one value in [0,1] per channel for the time at, in schema
// order, in dst grown as append does; nil allocates. The time
// should carry a monotonic reading, as time.Now does, so that steps of the wall
// clock do not matter, and be taken right before the call. On an error dst is
// unchanged: ErrPriming at the first call, or a *SampleError with every channel
// that could not be read (all others still advance).
func (r *Reader) SampleTo(dst []float64, at time.Time) ([]float64, error) {
	var failed []*ChannelError
	priming := false
	for i, c := range r.channels {
		value, err := c.sample(at)
		r.values[i] = value
		switch {
		case err == nil:
		case errors.Is(err, ErrPriming):
			priming = true
		default:
			failed = append(failed, channelErrors(err)...)
		}
	}
	switch {
	case len(failed) > 0:
		return dst, &SampleError{Channels: failed}
	case priming:
		return dst, ErrPriming
	}
	return append(dst[:0], r.values...), nil
}

// Close closes the files. A later SampleTo opens them again.
func (r *Reader) Close() error {
	for _, c := range r.channels {
		c.close()
	}
	return nil
}

func clamp(x float64) float64 { return min(max(x, 0), 1) }

// Channels reports which channels a Reader has beside cpu and memory, without which
// no node can be judged. The zero value adds none.
type Channels struct {
	// MemoryPressure is the share of time in which some task waited for memory:
	// reclaim, swap-in, a refault. It shows what the memory channel cannot, that
	// what is in use is also needed.
	MemoryPressure bool
	// IO is the share of time in which some task waited for a block device.
	IO bool
	// Network is the load of the busiest link, the larger of its two directions.
	Network bool
}

// channelNames are the names in schema order, each with what selects it; nil for
// those that are always there.
var channelNames = []struct {
	name   string
	choose func(*Channels) *bool
}{
	{cpuName, nil},
	{memoryName, nil},
	{memoryPressureName, func(c *Channels) *bool { return &c.MemoryPressure }},
	{ioName, func(c *Channels) *bool { return &c.IO }},
	{networkName, func(c *Channels) *bool { return &c.Network }},
}

// ParseChannels reads a list of channel names with commas between them, in any
// order: cpu, memory, memory-pressure, io, network. cpu and memory are always
// there, named or not. The error is a *FieldError.
func ParseChannels(s string) (Channels, error) {
	var c Channels
	if strings.TrimSpace(s) == "" {
		return c, nil
	}
	names := make([]string, len(channelNames))
	for i, n := range channelNames {
		names[i] = n.name
	}
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		i := slices.Index(names, name)
		if i < 0 {
			return Channels{}, NewFieldError("channel", strconv.Quote(name), "not one of "+strings.Join(names, ", "))
		}
		if choose := channelNames[i].choose; choose != nil {
			*choose(&c) = true
		}
	}
	return c, nil
}

// String returns the names in schema order, as ParseChannels reads them.
func (c Channels) String() string {
	var names []string
	for _, n := range channelNames {
		if n.choose == nil || *n.choose(&c) {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ",")
}

// CPUMode selects what the cpu channel measures.
type CPUMode string

const (
	// CPUHalf is (utilisation + contention)/2.
	CPUHalf CPUMode = "half"
	// CPUUtilisation is the share of CPU time that was not idle.
	CPUUtilisation CPUMode = "utilisation"
	// CPUContended is contention alone.
	CPUContended CPUMode = "contention"
)

// CPUContention selects what the cpu channel takes for contention.
type CPUContention string

const (
	// ContentionRunnable is how many tasks waited for a CPU, divided by the number of CPUs, at
	// most 1: those that could run (procs_running of /proc/stat, the mean of the last
	// readings) less those that did.
	ContentionRunnable CPUContention = "runnable"
	// ContentionPressure is the share of time in which some task waited for a CPU
	// (pressure stall information). The kernel counts it on each CPU apart, so
	// that any number of waiting tasks on one CPU of two makes a half. A kernel
	// that has none leaves utilisation alone.
	ContentionPressure CPUContention = "pressure"
)

// MemoryMode selects what the memory channel measures.
type MemoryMode string

const (
	// MemoryAvailable is 1 − MemAvailable/MemTotal.
	MemoryAvailable MemoryMode = "available"
	// MemoryFree is 1 − (MemFree + Buffers + Cached)/MemTotal, the definition of the
	// thesis that Spazio comes from; it counts shared memory as free.
	MemoryFree MemoryMode = "free"
)

// CPUCounter selects the counter behind CPU utilisation. Steal, the time in which
// the hypervisor ran other machines, is busy in all: where a counter leaves it
// out it is added from /proc/stat.
type CPUCounter string

const (
	// CounterAuto takes the finest there is: CounterCpuacct, else
	// CounterCgroup, else CounterStat.
	CounterAuto CPUCounter = "auto"
	// CounterCgroup is usage_usec in cpu.stat of the root of cgroup v2 (Linux
	// 5.8 on). It moves in steps of the kernel's tick (4 ms at 250 Hz).
	CounterCgroup CPUCounter = "cgroup"
	// CounterStat is the first line of /proc/stat, in steps of 10 ms.
	CounterStat CPUCounter = "stat"
	// CounterCpuacct is cpuacct.usage of the root of cgroup v1, also in the
	// hybrid layout: what the scheduler measured in ns at every switch and
	// tick, so that tasks which run for less than a tick count as long as they
	// ran. Where the kernel accounts for interrupt time apart, that is not in it.
	CounterCpuacct CPUCounter = "cpuacct"
)

// oneOf refuses a word that is none of those that a field may have.
func oneOf[T ~string](field string, value T, allowed ...T) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return NewFieldError(field, value, fmt.Sprintf("not one of %v", allowed))
}
