package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/share"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node"
)

// host is a machine of two cores that takes 50 W, with a guest that keeps one core busy.
type host struct {
	begun time.Time
	looks []time.Duration // since it began
	// slow is the duration of a reading, by its number.
	slow map[int]time.Duration
	fail atomic.Pointer[error]
}

func newHost() *host { return &host{begun: time.Now(), slow: map[int]time.Duration{}} }

func (h *host) Name() string            { return "host" }
func (h *host) Quality() energy.Quality { return energy.Measured }
func (h *host) Period() time.Duration   { return time.Second }
func (h *host) Close() error            { return nil }

func (h *host) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	since := time.Since(h.begun)
	n := len(h.looks)
	h.looks = append(h.looks, at.Sub(h.begun))
	time.Sleep(h.slow[n])
	if fail := h.fail.Load(); fail != nil {
		return dst[:0], *fail
	}
	return append(dst[:0], energy.Reading{Zone: "package-0", Counter: uint64(since.Microseconds()) * 50, At: at}), nil
}

func (h *host) GuestsTo(dst []share.Guest) ([]share.Guest, error) {
	return append(dst[:0], share.Guest{Name: "vm", CPU: time.Since(h.begun), VCPUs: 1}), nil
}

func (h *host) Refused() map[string]uint64 { return map[string]uint64{"name": 3} }

func (h *host) config(dir string) node.SharingConfig {
	return node.SharingConfig{Host: share.HostConfig{
		Dir: dir, Source: h, Guests: h, CPU: func() (time.Duration, int, error) { return time.Since(h.begun), 2, nil },
	}}
}

// run runs a Sharing for a duration of the bubble's clock.
func run(t *testing.T, s *node.Sharing, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestRoundTimes: rounds keep their schedule from the start: a slow round shifts none after it, and the
// rounds that it overlaps are skipped.
func TestRoundTimes(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		h.slow[3], h.slow[5] = 300*time.Millisecond, 2500*time.Millisecond
		s, err := node.NewSharing(h.config(dir))
		if err != nil {
			t.Fatal(err)
		}
		run(t, s, 10500*time.Millisecond)
		want := []time.Duration{}
		for _, second := range []int{0, 1, 2, 3, 4, 5, 8, 9, 10} {
			want = append(want, time.Duration(second)*time.Second)
		}
		if d := cmp.Diff(want, h.looks); d != "" {
			t.Error(d)
		}
	})
}

// TestSharingReady: a Sharing is ready while it publishes energy.
func TestSharingReady(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		var log strings.Builder
		c := h.config(dir)
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		s, err := node.NewSharing(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Ready(); err == nil {
			t.Error("ready before the beginning")
		}
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- s.Run(ctx) }()
		time.Sleep(2500 * time.Millisecond)
		if err := s.Ready(); err != nil {
			t.Error(err)
		}
		h.fail.Store(new(errors.New("the counter is gone")))
		time.Sleep(5 * time.Second)
		if err := s.Ready(); err == nil || !strings.Contains(err.Error(), "the counter is gone") {
			t.Error(err)
		}
		h.fail.Store(nil)
		time.Sleep(2 * time.Second)
		if err := s.Ready(); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		for _, once := range []string{"energy is shared again", "the counter is gone", "source=host quality=measured"} {
			if n := strings.Count(log.String(), once); n != 1 {
				t.Errorf("got %q %d times in\n%s", once, n, &log)
			}
		}
	})
}

// TestReadyWhenTheClockIsSet: a Sharing that publishes each second is ready, however far ahead the wall
// clock is set.
func TestReadyWhenTheClockIsSet(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := node.NewSharing(newHost().config(dir))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s.Share(time.Now().Add(-time.Hour).Round(0))
			time.Sleep(time.Second)
		}
		if err := s.Ready(); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		if err := s.Ready(); err == nil {
			t.Error("ready five seconds after the last round")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestReadyExplainsWhyNot: a machine without energy readings is read again and again.
func TestReadyExplainsWhyNot(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		h.fail.Store(&source.ErrNotPermitted)
		s, err := node.NewSharing(h.config(dir))
		if err != nil {
			t.Fatal(err)
		}
		run(t, s, 3500*time.Millisecond)
		if err := s.Ready(); err == nil || err.Error() != source.ErrNotPermitted.Error() || len(h.looks) != 4 {
			t.Error(err, h.looks)
		}
	})
}

// TestSharingShown checks a guest's energy as JSON and as metrics, and that the parts add up to the total.
func TestSharingShown(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		registry := prometheus.NewPedanticRegistry()
		c := h.config(dir)
		c.Registerer = registry
		s, err := node.NewSharing(c)
		if err != nil {
			t.Fatal(err)
		}
		run(t, s, 20500*time.Millisecond)
		answer := httptest.NewRecorder()
		s.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/debug/guests", nil))
		var shown struct {
			Source string  `json:"source"`
			Watts  float64 `json:"watts"`
			Guests []struct {
				Name   string  `json:"name"`
				VCPUs  int     `json:"vcpus"`
				Watts  float64 `json:"watts"`
				Joules float64 `json:"joules_total"`
			} `json:"guests"`
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &shown); err != nil {
			t.Fatal(err)
		}
		// The load is constant, so idle power cannot be separated from load: the guest gets the busy
		// half, and of the rest the share of its one core of two.
		const watts = 25 + 12.5
		if g := shown.Guests; shown.Source != "host" || math.Abs(shown.Watts-50) > .01 || len(g) != 1 || g[0].Name != "vm" || g[0].VCPUs != 1 ||
			math.Abs(g[0].Watts-watts) > .5 || math.Abs(g[0].Joules-20*watts) > 5 {
			t.Errorf("%s", answer.Body)
		}
		if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		all := energyMetrics(t, registry)
		sum := all["guest_joules_total{guest=vm}"] + all["unattributed_joules_total{part=idle}"] + all["unattributed_joules_total{part=system}"] + all["unattributed_joules_total{part=ended}"]
		joules := all["node_joules_total{part=false,source=host,zone=package-0}"]
		if math.Abs(joules-1000) > .01 || math.Abs(sum-joules) > 1e-9*joules {
			t.Errorf("%g J divided into %g: %v", joules, sum, all)
		}
		if all["quality{quality=measured,source=host}"] != 1 || all["guest_refused_total{cause=name}"] != 3 {
			t.Error(all)
		}
		text, err := os.ReadFile(filepath.Join(dir, "vm/class/powercap/intel-rapl:0/energy_uj"))
		if got, want := strings.TrimSpace(string(text)), fmt.Sprint(int(math.Floor(1e6*all["guest_joules_total{guest=vm}"]))); err != nil || got != want {
			t.Errorf("published are %s µJ, charged %s (%v)", got, want, err)
		}
	})
}

func TestSharingRefuses(t *testing.T) {
	h := newHost()
	c := h.config(t.TempDir())
	var name *field.Error
	c.Host.Source = nil
	if _, err := node.NewSharing(c); !errors.As(err, &name) || name.Field != "Source" {
		t.Error(err)
	}
	c = h.config(c.Host.Dir)
	s, err := node.NewSharing(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.NewSharing(c); !errors.Is(err, share.ErrLocked) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	var registered atomic.Int64
	c.Registerer = refusing{&registered}
	if _, err := node.NewSharing(c); err == nil || registered.Load() != 1 {
		t.Errorf("with a registry that refuses: got error %v after %d attempts to register, want an error after 1", err, registered.Load())
	}
	c.Registerer = nil
	if s, err = node.NewSharing(c); err != nil { // the failed New released the trees
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// refusing is a registry that refuses every collector.
type refusing struct{ asked *atomic.Int64 }

func (r refusing) Register(prometheus.Collector) error { r.asked.Add(1); return errors.New("taken") }
func (refusing) MustRegister(...prometheus.Collector)  {}
func (refusing) Unregister(prometheus.Collector) bool  { return false }
