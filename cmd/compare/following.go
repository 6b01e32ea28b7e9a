package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// settings are what a guest is followed in, with all CPUs busy: by itself, and as a node.
var settings = []part{
	{name: "a guest by itself", burn: true, oneHost: true},
	{name: "a node of Kubernetes", plane: true, agents: true, energy: true, scheduler: true, burn: true, oneHost: true},
}

// EmbeddedFollowing measures how the energy published to a guest follows its processor time
// while all CPUs are busy: of the last slice of a host, for Duration after WarmUp, in each of
// the settings. The rest of the configuration is as EmbeddedComponents'. Nothing is left
// behind.
func EmbeddedFollowing(ctx context.Context, c Config, say func(format string, args ...any)) (r Following, err error) {
	b, ctx, stop, err := newBench(ctx, c, say)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	r.Quality = simulatedQuality
	for _, p := range settings {
		say("%s", p.name)
		readings, err := b.following(ctx, p)
		if err != nil {
			return r, failure(ctx, fmt.Errorf("%s: %w", p.name, err))
		}
		r.Settings = append(r.Settings, followedResult{Name: p.name, CPUs: len(b.slice(b.slices - 1)), Readings: readings})
	}
	return r, nil
}

// following brings up a setting and follows the last slice.
func (b *bench) following(ctx context.Context, p part) (readings []followedReading, err error) {
	err = b.with(ctx, p, func(ctx context.Context, t *trial) error {
		shared, err := t.site.share(ctx)
		if err != nil {
			return err
		}
		if err := pause(ctx, t.config.WarmUp); err != nil {
			return err
		}
		last := len(t.site.slices) - 1
		readings, err = t.site.follow(ctx, counterFile(shared, t.site.slices[last]), last, t.config.Duration)
		return err
	})
	return readings, err
}

// sampling is how often processor time is read, for its value at the times at which the
// energy of a publication was.
const sampling = 20 * time.Millisecond

// follow reads for a while the energy that a file publishes to a slice, and the slice's processor time.
func (s *site) follow(ctx context.Context, file string, slice int, length time.Duration) ([]followedReading, error) {
	var f followedGuest
	for end := time.Now().Add(length); time.Now().Before(end); {
		f.taken(time.Now(), s.sliceCPU(slice))
		at, micros, err := publishedEnergy(file)
		if err != nil {
			return nil, err
		}
		f.published(at, micros)
		if err := pause(ctx, sampling); err != nil {
			return nil, err
		}
	}
	if len(f.readings) == 0 {
		return nil, fmt.Errorf("%w: %s", errSilent, file)
	}
	return f.readings, nil
}

// followedGuest makes readings of a guest's processor time and published energy.
type followedGuest struct {
	clock    []clockReading // of late
	first    time.Time      // of the first publication
	last     energyPublication
	readings []followedReading
}

// clockReading is the processor time at a time.
type clockReading struct {
	at  time.Time
	cpu time.Duration
}

// energyPublication is a publication, with the processor time when its energy was sampled.
type energyPublication struct {
	at     time.Time
	micros uint64
	cpu    time.Duration
}

// mostClock is as long as a publication takes to be seen.
const mostClock = int(5 * time.Second / sampling)

// taken is the processor time at a time.
func (f *followedGuest) taken(at time.Time, cpu time.Duration) {
	f.clock = append(f.clock, clockReading{at, cpu})
	if len(f.clock) > mostClock {
		f.clock = f.clock[1:]
	}
}

// published takes the energy at a time, which may have been published before.
func (f *followedGuest) published(at time.Time, micros uint64) {
	if !at.After(f.last.at) {
		return
	}
	cpu, ok := f.at(at)
	if !ok { // before the first clock
		return
	}
	now := energyPublication{at, micros, cpu}
	if f.first.IsZero() {
		f.first = at
	} else if micros >= f.last.micros { // else the counter has begun anew
		seconds := at.Sub(f.last.at).Seconds()
		f.readings = append(f.readings, followedReading{
			At: at.Sub(f.first).Seconds(), Seconds: seconds,
			Cores: (cpu - f.last.cpu).Seconds() / seconds, Watts: float64(micros-f.last.micros) / 1e6 / seconds,
		})
	}
	f.last = now
}

// at is the processor time at a time between two of the clock's, or at its newest.
func (f *followedGuest) at(t time.Time) (cpu time.Duration, ok bool) {
	for i := len(f.clock) - 1; i >= 0; i-- {
		before := f.clock[i]
		if before.at.After(t) {
			continue
		}
		if i == len(f.clock)-1 {
			return before.cpu, true
		}
		after := f.clock[i+1]
		share := float64(t.Sub(before.at)) / float64(after.at.Sub(before.at))
		return before.cpu + time.Duration(share*float64(after.cpu-before.cpu)), true
	}
	return 0, false
}

// publishedEnergy returns the energy in a guest's file, and when that was sampled: its mtime.
func publishedEnergy(path string) (at time.Time, micros uint64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return at, 0, err
	}
	defer f.Close()
	text := make([]byte, 64)
	n, err := f.Read(text)
	if err != nil {
		return at, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return at, 0, err
	}
	micros, err = strconv.ParseUint(strings.TrimSpace(string(text[:n])), 10, 64)
	return info.ModTime(), micros, err
}
