package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/compare/social"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// GuestsConfig holds the numbers of guests of a host to watch, and for how long each. Both are
// required.
type GuestsConfig struct {
	Counts   []int         `json:"counts"`
	Duration time.Duration `json:"duration"`
}

// settle is how long energy is published to the guests before they are watched.
const settle = 3 * time.Second

// mostGuests is as many as have been tried.
const mostGuests = 100

// validate names the first field that is out of range.
func (c GuestsConfig) validate() error {
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

// EmbeddedGuests measures how often spazio-host-energy publishes the energy of each guest of a host, and
// what that takes, by the number of guests: control groups as libvirt makes them, in each
// an idle server. Nothing is left behind.
func EmbeddedGuests(ctx context.Context, c GuestsConfig, say func(format string, args ...any)) (r Guests, err error) {
	if err := c.validate(); err != nil {
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
	b := &bench{cpus: cpus, group: group, say: say, oneHost: true}
	r.Quality = simulatedQuality
	for _, n := range c.Counts {
		say("%d guests for %v", n, c.Duration)
		b.slices = n
		row, err := b.guests(ctx, c.Duration)
		if err != nil {
			return r, fmt.Errorf("%d guests: %w", n, err)
		}
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

// guests watches as many guests as there are slices.
func (b *bench) guests(ctx context.Context, length time.Duration) (row guestsRow, err error) {
	services, running := simnode.NewGroup(ctx, func(err error) { b.say("%v", err) })
	defer services.Stop()
	s, err := b.newSite(running, services, false)
	if err == nil {
		row, err = s.guests(running, length)
	}
	return row, failure(running, err)
}

func (s *site) guests(ctx context.Context, length time.Duration) (row guestsRow, err error) {
	for i := range s.slices {
		if _, err := s.start(roleApp, i, "--tier", social.Front); err != nil {
			return row, err
		}
	}
	dir, err := s.share(ctx)
	if err != nil {
		return row, err
	}
	var files []string
	for _, guest := range s.slices {
		files = append(files, counterFile(dir, guest))
	}
	last := make([]time.Time, len(files))
	if _, err := gaps(ctx, files, last, settle); err != nil && !errors.Is(err, errSilent) {
		return row, err
	}
	began, err := s.state(ctx)
	if err != nil {
		return row, err
	}
	apart, err := gaps(ctx, files, last, length)
	if err != nil {
		return row, err
	}
	end, err := s.state(ctx)
	if err != nil {
		return row, err
	}
	took := s.between(began, end)
	row = guestsRow{Guests: len(files), Publications: len(apart), Millicores: 1000 * took.cpu[rolePower] / took.seconds}
	slices.Sort(apart)
	var sum time.Duration
	for _, d := range apart {
		sum += d
	}
	row.Mean = (sum / time.Duration(len(apart))).Seconds() // between least and most, which a sum of fractions need not be
	row.Least, row.P99, row.Most = apart[0].Seconds(), apart[len(apart)*99/100].Seconds(), apart[len(apart)-1].Seconds()
	return row, nil
}

// errSilent reports a guest for which no energy counter was published.
var errSilent = errors.New("no energy counter was published for a guest")

// gaps returns the times between two publications of a file each, of all files, for a while. It
// keeps when each was last published.
func gaps(ctx context.Context, files []string, last []time.Time, length time.Duration) (apart []time.Duration, err error) {
	published := make([]bool, len(files))
	for end := time.Now().Add(length); time.Now().Before(end); {
		for i, file := range files {
			at, err := publication(file)
			if err != nil {
				return nil, err
			}
			if at.After(last[i]) {
				if !last[i].IsZero() {
					apart, published[i] = append(apart, at.Sub(last[i])), true
				}
				last[i] = at
			}
		}
		if err := pause(ctx, look); err != nil {
			return nil, err
		}
	}
	if i := slices.Index(published, false); i >= 0 {
		return nil, fmt.Errorf("%w: %s", errSilent, files[i])
	}
	return apart, nil
}
