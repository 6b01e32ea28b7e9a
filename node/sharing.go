package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/share"
	"github.com/spazio-scheduler/spazio/energy/source"
)

// SharingConfig describes whose energy a Sharing shares. Host is required.
type SharingConfig struct {
	Host share.HostConfig
	// Registerer takes the metrics; nil means none. It is not that of an Agent with Energy, since
	// some metrics of both have the same names.
	Registerer prometheus.Registerer
	// Logger gets what begins and ends to fail; nil logs nothing.
	Logger *slog.Logger
}

// Sharing shares a machine's energy with the virtual machines that run on it, each
// share.Period, as a part of any program: it calls a [share.Host], and shows what came of it.
//
//	sharing, err := node.NewSharing(node.SharingConfig{Host: share.HostConfig{…}, Registerer: registry})
//	err = sharing.Run(ctx)
//
// Its methods are safe for concurrent use, but Run is called once.
type Sharing struct {
	source source.Source
	finder any // that may count what it refuses
	logger *slog.Logger

	mu        sync.Mutex // guards the rest
	host      *share.Host
	round     sharingRound
	published time.Time // when the last round was, by the monotonic clock; zero: none yet
	failing   string    // the error that was logged last
}

// sharingRound is what one look has given, as Handler shows it.
type sharingRound struct {
	At     time.Time `json:"at"`
	Source string    `json:"source"`
	Watts  float64   `json:"watts"`
	Error  string    `json:"error,omitempty"`
	// Partial reports that zones of the machine could not be read or used: its watts and
	// its guests' are too low.
	Partial bool         `json:"partial,omitempty"`
	Guests  []guestRound `json:"guests"`
}

type guestRound struct {
	Name   string  `json:"name"`
	VCPUs  int     `json:"vcpus"`
	Watts  float64 `json:"watts"`
	Idle   float64 `json:"idle_watts"`
	SD     float64 `json:"watts_stddev"`
	Joules float64 `json:"joules_total"`
}

// NewSharing opens the trees, so that it is known whether they can be written. The error is an
// *field.Error or that of share.NewHost. The caller must Run or Close it.
func NewSharing(c SharingConfig) (*Sharing, error) {
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	host, err := share.NewHost(c.Host)
	if err != nil {
		return nil, err
	}
	s := &Sharing{source: c.Host.Source, finder: c.Host.Guests, logger: c.Logger, host: host, round: sharingRound{Guests: []guestRound{}}}
	if c.Registerer != nil {
		if err := c.Registerer.Register(sharingMetrics{s}); err != nil {
			return nil, errors.Join(err, host.Close())
		}
	}
	if warning := host.Warning(); warning != nil {
		c.Logger.Warn("each publication writes to a disk: mount a tmpfs there", "error", warning)
	}
	return s, nil
}

// Close lets go of the trees of a Sharing that is never run.
func (s *Sharing) Close() error { return s.host.Close() }

// Run publishes until ctx ends, which is no error. Trees stay for a process that continues with
// them. Times are kept from the beginning, by the monotonic clock: neither a late round
// nor a change of the wall clock shifts those after it.
func (s *Sharing) Run(ctx context.Context) error {
	begun := time.Now()
	wall := begun.Round(0)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for due := time.Duration(0); ; {
		select {
		case <-ctx.Done():
			return s.Close()
		case <-timer.C:
		}
		s.share(wall.Add(time.Since(begun)))
		now := time.Since(begun)
		due += share.Period * max((now-due+share.Period-1)/share.Period, 1) // those that are past are left out
		timer.Reset(due - now)
	}
}

// share is one round.
func (s *Sharing) share(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.host.Share(at)
	s.logError(found, err)
	if found.To.IsZero() {
		return
	}
	s.published = time.Now()
	s.show(at, &found)
}

// logError logs an error when it begins and when it ends. A missing reading, and one that is
// not newer, are no errors.
func (s *Sharing) logError(found share.Division, err error) {
	if found.To.IsZero() && (errors.Is(err, source.ErrUnchanged) || errors.Is(err, energy.ErrPriming)) {
		return
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.round.Error = text
	switch failing := text != ""; {
	case failing && s.failing == "":
		s.logger.Warn("energy is not shared, or not all of it", "error", err)
	case !failing && s.failing != "":
		s.logger.Info("energy is shared again")
	}
	s.failing = text
}

// show keeps what a round has given.
func (s *Sharing) show(at time.Time, found *share.Division) {
	if name := s.source.Name(); name != s.round.Source {
		s.logger.Info("energy is shared", "source", name, "quality", s.source.Quality().String(), "guests", len(s.host.Guests()))
	}
	seconds := found.To.Sub(found.From).Seconds()
	s.round.At, s.round.Source, s.round.Watts = at, s.source.Name(), found.Joules/seconds
	s.round.Partial = found.Partial
	s.round.Guests = s.round.Guests[:0]
	parts, totals := found.Parts, s.host.Totals()
	for _, g := range s.host.Guests() {
		one := guestRound{Name: g.Name, VCPUs: g.VCPUs, Joules: totals.Guests[g.Name]}
		if len(parts) > 0 && parts[0].Guest == g.Name {
			one.Watts, one.Idle, one.SD = parts[0].Joules/seconds, parts[0].Idle/seconds, parts[0].SD/seconds
			parts = parts[1:]
		}
		s.round.Guests = append(s.round.Guests, one)
	}
}

// sharingStale is after how many periods without a publication a Sharing is not ready: readers in
// guests give up then, too.
const sharingStale = 3

// Ready is nil while guests' energy is published, and returns else why not.
func (s *Sharing) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.published.IsZero() && s.failing == "":
		return errors.New("nothing was published yet")
	case s.failing != "" && s.round.At.IsZero():
		return errors.New(s.failing)
	case time.Since(s.published) > sharingStale*share.Period+time.Second:
		return fmt.Errorf("nothing was published for %d periods: %s", sharingStale, s.failing)
	}
	return nil
}

// Handler shows the newest round as JSON: watts and joules of each guest.
func (s *Sharing) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		text, err := json.MarshalIndent(s.round, "", "  ")
		s.mu.Unlock()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(text, '\n')) // who asked may have gone
	})
}

var (
	guestJoules      = desc("guest_joules_total", "Energy charged to each guest that has a tree.", "guest")
	guestRefused     = desc("guest_refused_total", "What looked like a guest and was refused, each time that it was looked at, by cause.", "cause")
	hostUnattributed = desc("unattributed_joules_total", "Energy that no guest is charged with: without load (idle), not a guest's (system), of guests whose trees are gone (ended).", "part")
	hostQuality      = desc("quality", "1 for the source of energy that is read and the quality of its power.", "source", "quality")
	hostRefused      = desc("refused_total", "Readings of energy and CPU time that made no interval, and trees that could not be written, by cause.", "cause")
)

// sharingMetrics collects what a Sharing has divided.
type sharingMetrics struct{ sharing *Sharing }

// Describe implements prometheus.Collector.
func (m sharingMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{guestJoules, guestRefused, nodeJoules, hostUnattributed, hostQuality, hostRefused} {
		to <- d
	}
}

// Collect implements prometheus.Collector. Metrics are sent after the lock is released, since
// their receiver may be slow.
func (m sharingMetrics) Collect(to chan<- prometheus.Metric) {
	for _, metric := range m.gather() {
		to <- metric
	}
}

func (m sharingMetrics) gather() (all []prometheus.Metric) {
	s := m.sharing
	s.mu.Lock()
	defer s.mu.Unlock()
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		all = append(all, prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...))
	}
	totals := s.host.Totals()
	for guest, joules := range totals.Guests {
		counter(guestJoules, joules, guest)
	}
	for zone, joules := range totals.Zones {
		counter(nodeJoules, joules, zone.Source, zone.Zone, strconv.FormatBool(zone.Part))
	}
	counter(hostUnattributed, totals.Rest.Idle, "idle")
	counter(hostUnattributed, totals.Rest.System, "system")
	counter(hostUnattributed, totals.Rest.Ended, "ended")
	all = append(all, prometheus.MustNewConstMetric(hostQuality, prometheus.GaugeValue, 1, s.source.Name(), s.source.Quality().String()))
	for cause, n := range totals.Refused {
		counter(hostRefused, float64(n), cause)
	}
	for cause, n := range s.refusedGuests() {
		counter(guestRefused, float64(n), cause)
	}
	return all
}

// refuser is a finder of guests that counts by cause what it took for none.
type refuser interface{ Refused() map[string]uint64 }

var _ refuser = (*share.Finder)(nil)

// refusedGuests are counted by what looks for them, if it does.
func (s *Sharing) refusedGuests() map[string]uint64 {
	if f, ok := s.finder.(refuser); ok {
		return f.Refused()
	}
	return nil
}
