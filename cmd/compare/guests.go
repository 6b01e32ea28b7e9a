package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/compare/social"
	"github.com/spazio-scheduler/spazio/sim/report/schedulers"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/parts"
)

// GuestsConfig says how many guests of a host are watched, and for how long each number of
// them. Both are required.
type GuestsConfig struct {
	Counts   []int         `json:"counts"`
	Duration time.Duration `json:"duration"`
}

// settle is how long guests have been told of before they are watched.
const settle = 3 * time.Second

// mostGuests is as many as have been tried.
const mostGuests = 100

// Validate names the first field that is out of range.
func (c GuestsConfig) Validate() error {
	if len(c.Counts) == 0 {
		return refuse("Counts", c.Counts, "some")
	}
	for _, n := range c.Counts {
		if n < 1 || n > mostGuests {
			return refuse("Counts", n, fmt.Sprintf("1 to %d", mostGuests))
		}
	}
	if c.Duration < 5*time.Second || c.Duration > mostLength {
		return refuse("Duration", c.Duration, "5 seconds to a day")
	}
	return nil
}

// EmbeddedGuests measures how often spazio-power tells each guest of a host its energy, and
// what that takes, by the number of guests: control groups as libvirt makes them, in each
// an idle server. Nothing is left behind.
func EmbeddedGuests(ctx context.Context, c GuestsConfig, say func(format string, args ...any)) (r schedulers.Guests, err error) {
	if err := c.Validate(); err != nil {
		return r, err
	}
	cpus, err := children.CPUs()
	if err != nil {
		return r, err
	}
	group, err := children.NewGroup()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, group.Close()) }()
	b := &bench{cpus: cpus, group: group, say: say}
	r.Quality = Quality
	for _, n := range c.Counts {
		say("%d guests for %v", n, c.Duration)
		b.config = Config{Slices: n, Topology: OneHost}
		row, err := b.guests(ctx, c.Duration)
		if err != nil {
			return r, fmt.Errorf("%d guests: %w", n, err)
		}
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

// guests watches as many guests as there are slices.
func (b *bench) guests(ctx context.Context, length time.Duration) (row schedulers.GuestsRow, err error) {
	services, running := parts.New(ctx, func(err error) { b.say("%v", err) })
	defer services.Stop()
	s, err := b.newSite(running, services, false)
	if err != nil {
		return row, failure(running, err)
	}
	for i := range s.slices {
		if _, err := s.start(roleApp, i, "--tier", social.Front); err != nil {
			return row, failure(running, err)
		}
	}
	dir, err := s.share(running)
	if err != nil {
		return row, failure(running, err)
	}
	w, err := newFollowed(dir, s.slices)
	if err != nil {
		return row, err
	}
	if err := w.pass(running, settle); err != nil {
		return row, failure(running, err)
	}
	w.forget()
	began, err := s.state(running)
	if err != nil {
		return row, failure(running, err)
	}
	if err := w.pass(running, length); err != nil {
		return row, failure(running, err)
	}
	end, err := s.state(running)
	if err != nil {
		return row, failure(running, err)
	}
	took := s.between(began, end)
	return w.row(1000 * took.cpu[rolePower] / took.seconds)
}

// followed is what guests are told.
type followed struct {
	files []string
	last  []time.Time
	apart [][]time.Duration // two publications, by guest
}

// newFollowed begins with what has been published by now.
func newFollowed(dir string, guests []string) (*followed, error) {
	w := &followed{apart: make([][]time.Duration, len(guests))}
	for _, g := range guests {
		at, err := publication(counterFile(dir, g))
		if err != nil {
			return nil, err
		}
		w.files, w.last = append(w.files, counterFile(dir, g)), append(w.last, at)
	}
	return w, nil
}

// pass looks for a while.
func (w *followed) pass(ctx context.Context, length time.Duration) error {
	for end := time.Now().Add(length); time.Now().Before(end); {
		for i, file := range w.files {
			at, err := publication(file)
			if err != nil {
				return err
			}
			if at.After(w.last[i]) {
				w.apart[i] = append(w.apart[i], at.Sub(w.last[i]))
				w.last[i] = at
			}
		}
		if err := pause(ctx, look); err != nil {
			return err
		}
	}
	return nil
}

// forget begins anew.
func (w *followed) forget() {
	for i := range w.apart {
		w.apart[i] = w.apart[i][:0]
	}
}

// errSilent is of a guest that was told nothing.
var errSilent = errors.New("a guest was told nothing")

// row sums up.
func (w *followed) row(millicores float64) (schedulers.GuestsRow, error) {
	row := schedulers.GuestsRow{Guests: len(w.files), Millicores: millicores}
	var all []time.Duration
	for i, apart := range w.apart {
		if len(apart) == 0 {
			return row, fmt.Errorf("%w: %s", errSilent, w.files[i])
		}
		all = append(all, apart...)
	}
	slices.Sort(all)
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	row.Mean = (sum / time.Duration(len(all))).Seconds() // between least and most, which a sum of fractions need not be
	row.Publications, row.Least, row.Most = len(all), all[0].Seconds(), all[len(all)-1].Seconds()
	row.P99 = all[len(all)*99/100].Seconds()
	return row, nil
}
