package share_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/share"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/energy/source/fakerapl"
	"github.com/spazio-scheduler/spazio/field"
)

// plant is a host whose energy counters are files, with made-up guests.
type plant struct {
	t        *testing.T
	dir, sys string
	machine  *fakerapl.Machine
	at       time.Time
	cpu      []fakerapl.Consumer
	guests   []share.Guest
	busy     time.Duration
	cpuErr   error
	findErr  error
}

const plantCores = 8

func newPlant(t *testing.T, guests int, rng float64) *plant {
	t.Helper()
	p := &plant{t: t, dir: filepath.Join(memory(t), "power"), sys: t.TempDir(), at: start}
	var err error
	p.machine, err = fakerapl.New(fakerapl.Config{
		Dir: p.sys, Sockets: 2, Cores: plantCores / 2, Idle: 20, Max: 80, DRAM: 5, Range: rng, Noise: .02, Random: rand.New(rand.NewPCG(5, 5)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.machine.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range guests {
		p.guests = append(p.guests, share.Guest{Name: fmt.Sprint("vm", i), VCPUs: 1, Instance: 1})
		p.cpu = append(p.cpu, fakerapl.Consumer{Socket: i % 2})
	}
	p.cpu = append(p.cpu, fakerapl.Consumer{}) // the host's own
	p.advance(0)
	return p
}

// advance lets a second pass in which the host and its guests keep cores busy.
func (p *plant) advance(host float64, cores ...float64) {
	p.t.Helper()
	const steps = 10
	for range steps {
		p.at = p.at.Add(time.Second / steps)
		for i, c := range append(append([]float64{}, cores...), make([]float64, len(p.guests)-len(cores))...) {
			p.add(i, c/steps)
			p.guests[i].CPU = p.cpu[i].CPU
		}
		p.add(len(p.cpu)-1, host/steps)
		if err := p.machine.Advance(p.at, p.cpu); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *plant) add(i int, seconds float64) {
	d := time.Duration(seconds * float64(time.Second))
	p.cpu[i].CPU += d
	p.busy += d
}

// GuestsTo implements the Host's source of guests.
func (p *plant) GuestsTo(dst []share.Guest) ([]share.Guest, error) {
	return append(dst[:0], p.guests...), p.findErr
}

func (p *plant) chain() *source.Chain {
	p.t.Helper()
	c, err := source.Open(p.t.Context(), source.Config{Source: source.NamePowercap, Powercap: source.PowercapConfig{Root: filepath.Join(p.sys, "class/powercap")}})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			p.t.Error(err)
		}
	})
	return c
}

func (p *plant) host(c share.HostConfig) *share.Host {
	p.t.Helper()
	c.Dir, c.Guests = p.dir, p
	if c.Source == nil {
		c.Source = p.chain()
	}
	c.Divider.Meter.MaxWatts = 90
	c.CPU = func() (time.Duration, int, error) { return p.busy, plantCores, p.cpuErr }
	h, err := share.NewHost(c)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = h.Close() }) // which a test may have done
	return h
}

// agent is a guest's agent, which reads its tree.
type agent struct {
	source *source.Chain
	meter  *energy.Meter
}

func (p *plant) agent(guest string) *agent {
	p.t.Helper()
	c, err := source.Open(p.t.Context(), source.Config{Source: source.NameShared, SharedRoot: filepath.Join(p.dir, guest)})
	if err != nil {
		p.t.Fatal(err)
	}
	m, err := energy.NewMeter(energy.MeterConfig{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Close() }) // what was read alone
	return &agent{c, m}
}

// read reads the tree and returns the watts of the last interval.
func (a *agent) read(t *testing.T, at time.Time) float64 {
	t.Helper()
	readings, err := a.source.ReadTo(nil, at)
	if errors.Is(err, source.ErrUnchanged) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	in, err := a.meter.Add(readings)
	if err != nil && !errors.Is(err, energy.ErrPriming) {
		t.Fatal(err)
	}
	return in.Watts
}

func (a *agent) joules() (sum float64) {
	for _, z := range a.meter.TotalsTo(nil) {
		sum += z.Joules
	}
	return sum
}

// TestHost tests the whole chain: the readings of the guests' agents are what each guest was
// charged, which is what it used, and with the rest they add up to the machine's energy. The
// machine's counters wrap every 1,100 J meanwhile.
func TestHost(t *testing.T) {
	p := newPlant(t, 3, 1100)
	h := p.host(share.HostConfig{Divider: share.DividerConfig{Idle: share.IdleNone}})
	random := rand.New(rand.NewPCG(3, 3))
	var agents []*agent
	var before map[string]float64
	begun := func() {
		for _, g := range p.guests {
			agents = append(agents, p.agent(g.Name))
		}
	}
	var node, parts float64
	share1 := func() {
		found, err := h.Share(p.at)
		if err != nil && !errors.Is(err, energy.ErrPriming) && !errors.Is(err, source.ErrUnchanged) {
			t.Fatal(err)
		}
		node += found.Joules
		for _, part := range found.Parts {
			parts += part.Joules
		}
		for _, a := range agents {
			a.read(t, p.at.Add(7*time.Millisecond))
		}
	}
	share1() // a chain reads twice before it counts
	for _, load := range []float64{8, 6, 4, 2, 1, 0, 0} {
		for range 15 {
			p.advance(load)
			share1()
		}
	}
	begun()
	for range 5 { // the agents' chains, too
		p.advance(0)
		share1()
	}
	before = map[string]float64{}
	for i, g := range p.guests {
		before[g.Name] = h.Totals().Guests[g.Name] - agents[i].joules()
	}
	_, truth := p.machine.Truth()
	for range 300 {
		p.advance(random.Float64(), random.Float64(), 2*random.Float64(), .2)
		share1()
	}
	_, now := p.machine.Truth()
	for i, g := range p.guests {
		charged := h.Totals().Guests[g.Name]
		if got, want := agents[i].joules(), charged-before[g.Name]; math.Abs(got-want) > 1e-5 {
			t.Errorf("%s: %.6f J by its agent, %.6f charged", g.Name, got, want)
		}
		if got, want := agents[i].joules(), now[i]-truth[i]; math.Abs(got-want) > .05*want {
			t.Errorf("%s: %.1f J by its agent, %.1f taken", g.Name, got, want)
		}
	}
	rest := h.Totals().Rest
	if sum := parts + rest.Idle + rest.System + rest.Ended; math.Abs(sum-node) > 1e-9*node {
		t.Errorf("%.9f J divided into %.9f", node, sum)
	}
	all, _ := p.machine.Truth()
	var zones float64
	for _, joules := range h.Totals().Zones {
		zones += joules
	}
	if math.Abs(zones-node) > 1e-9*node || math.Abs(node-all) > .01*all {
		t.Errorf("%.3f J by zone, %.3f in all, %.3f taken", zones, node, all)
	}
	if len(h.Totals().Refused) > 0 {
		t.Error(h.Totals().Refused)
	}
	if names := mustRead(t, filepath.Join(p.dir, "vm0")); len(names) != 2 || names[1].Name != "dram" || names[1].Micro == 0 {
		t.Errorf("memory is not told: %+v", names)
	}
}

// TestHostRestarts: guests' counters continue, and energy meanwhile is charged to no guest.
func TestHostRestarts(t *testing.T) {
	p := newPlant(t, 1, 0)
	run := func(h *share.Host, seconds int) {
		for range seconds {
			p.advance(0, 1)
			if _, err := h.Share(p.at); err != nil && !errors.Is(err, energy.ErrPriming) && !errors.Is(err, source.ErrUnchanged) {
				t.Fatal(err)
			}
		}
	}
	first := p.host(share.HostConfig{})
	run(first, 10)
	a := p.agent("vm0")
	a.read(t, p.at)
	charged := first.Totals().Guests["vm0"]
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	left := mustRead(t, filepath.Join(p.dir, "vm0"))
	if got := float64(left[0].Micro+left[1].Micro) * 1e-6; math.Abs(got-charged) > 1e-5 || charged == 0 {
		t.Errorf("%g J are left of %g", got, charged)
	}
	p.advance(0, 1)
	second := p.host(share.HostConfig{})
	run(second, 10)
	now := mustRead(t, filepath.Join(p.dir, "vm0"))
	if got, want := float64(now[0].Micro+now[1].Micro)*1e-6, charged+second.Totals().Guests["vm0"]; math.Abs(got-want) > 1e-5 {
		t.Errorf("%g J after the restart, want %g", got, want)
	}
}

// TestHostKeeps: the tree of a guest that is gone for a while continues with it, and is removed
// later; also one that another process has left.
func TestHostKeeps(t *testing.T) {
	p := newPlant(t, 2, 0)
	left := newTree(t, p.dir, false)
	publish(t, left, start, "left", 5)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	h := p.host(share.HostConfig{})
	h.SetKeep(5 * time.Second)
	both := p.guests
	seconds := func(n int) {
		for range n {
			all := p.guests
			p.guests = both
			p.advance(0, 1, 1)
			p.guests = all
			_, _ = h.Share(p.at)
		}
	}
	seconds(4)
	p.guests = both[:1]
	seconds(3)
	charged := h.Totals().Guests["vm1"]
	if got := h.Published(); !cmp.Equal(got, []string{"left", "vm0", "vm1"}) || charged == 0 {
		t.Error(got, charged)
	}
	at := mustRead(t, filepath.Join(p.dir, "vm1"))[0].At
	p.guests = both
	seconds(4)
	back := mustRead(t, filepath.Join(p.dir, "vm1"))[0]
	if !back.At.After(at) || h.Totals().Guests["vm1"] <= charged {
		t.Errorf("%+v after %v", back, at)
	}
	if got := h.Published(); !cmp.Equal(got, []string{"vm0", "vm1"}) {
		t.Error(got)
	}
	charged = h.Totals().Guests["vm1"]
	p.guests = both[:1]
	seconds(7)
	if got := h.Published(); !cmp.Equal(got, []string{"vm0"}) || math.Abs(h.Totals().Rest.Ended-charged) > 1e-9 || h.Totals().Guests["vm1"] != 0 {
		t.Error(got, h.Totals())
	}
	if _, err := os.Stat(filepath.Join(p.dir, "vm1")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "left")); err != nil {
		t.Error("a directory that was there before:", err)
	}
}

// TestHostMakesRoom: guests that come and go stay within the bound, because those that are gone
// longest make room.
func TestHostMakesRoom(t *testing.T) {
	p := newPlant(t, 1, 0)
	h := p.host(share.HostConfig{})
	for i := range 5 {
		p.advance(0, 1)
		p.guests = p.guests[:1]
		p.guests[0].Name = "a"
		for j := range 400 {
			p.guests = append(p.guests, share.Guest{Name: fmt.Sprintf("g%d-%03d", i, j)})
		}
		if _, err := h.Share(p.at); err != nil && i > 1 {
			t.Fatal(err)
		}
		p.guests = p.guests[:1]
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil || len(entries) > share.MaxGuests || len(entries) < 801 || h.Totals().Refused["publish"] > 0 {
		t.Error(len(entries), err, h.Totals().Refused)
	}
}

// TestHostFails: each part fails in turn; the host reports it, publishes nothing, and loses no
// energy.
func TestHostFails(t *testing.T) {
	p := newPlant(t, 1, 0)
	h := p.host(share.HostConfig{})
	broken := errors.New("broken")
	node := 0.
	turn := func() error {
		p.advance(.5, 1)
		found, err := h.Share(p.at)
		node += found.Joules
		if err != nil && !found.To.IsZero() {
			t.Error("both:", found, err)
		}
		return err
	}
	for range 3 {
		_ = turn()
	}
	begun, _ := p.machine.Truth()
	begun -= node
	file := filepath.Join(p.dir, "vm0/class/powercap/intel-rapl:0/energy_uj")
	for _, c := range []struct {
		cause string
		err   *error
	}{{"cpu", &p.cpuErr}, {"guests", &p.findErr}} {
		was := text(t, file)
		*c.err = broken
		if err := turn(); !errors.Is(err, broken) || h.Totals().Refused[c.cause] != 1 {
			t.Errorf("%s: %v, %v", c.cause, err, h.Totals().Refused)
		}
		if text(t, file) != was {
			t.Errorf("%s: published", c.cause)
		}
		*c.err = nil
		if err := turn(); err != nil || text(t, file) == was {
			t.Errorf("%s: mended: %v", c.cause, err)
		}
	}
	if now, _ := p.machine.Truth(); math.Abs(node-(now-begun)) > .001*node {
		t.Errorf("%g J divided, %g taken", node, now-begun)
	}
	// A tree that cannot be written does not delay the others.
	p.guests = append(p.guests, share.Guest{Name: "vm1", VCPUs: 1})
	p.cpu = append(p.cpu, fakerapl.Consumer{})
	if err := os.WriteFile(filepath.Join(p.dir, "vm1"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	was := text(t, file)
	p.advance(.5, 1)
	if found, err := h.Share(p.at); err == nil || found.To.IsZero() || h.Totals().Refused["publish"] != 1 || text(t, file) == was {
		t.Errorf("%+v, %v, %v", found, err, h.Totals().Refused)
	}
}

// changing is a source that is replaced by another.
type changing struct {
	source.Source
	name    string
	quality energy.Quality
}

func (c *changing) Name() string            { return c.name }
func (c *changing) Quality() energy.Quality { return c.quality }

// TestHostChangesSource: the first interval of another source has no energy, and totals stay apart.
func TestHostChangesSource(t *testing.T) {
	p := newPlant(t, 1, 0)
	s := &changing{p.chain(), "one", energy.Measured}
	h := p.host(share.HostConfig{Source: s, Divider: share.DividerConfig{Curve: energy.CurveConfig{Idle: 10, Max: 100}}})
	for range 4 {
		p.advance(0, 1)
		_, _ = h.Share(p.at)
	}
	one := h.Totals().Zones[share.Zone{Source: "one", Zone: "package-0"}]
	s.name, s.quality = "two", energy.Modelled
	p.advance(0, 1)
	if found, err := h.Share(p.at); !errors.Is(err, energy.ErrPriming) || !found.To.IsZero() {
		t.Error(found, err)
	}
	p.advance(0, 1)
	if found, err := h.Share(p.at); err != nil || found.To.IsZero() {
		t.Error(found, err)
	}
	zones := h.Totals().Zones
	if two := zones[share.Zone{Source: "two", Zone: "package-0"}]; !(one > 0 && two > 0) || zones[share.Zone{Source: "one", Zone: "package-0"}] != one {
		t.Error(zones)
	}
}

// lacking is a source that cannot read one of its zones.
type lacking struct {
	source.Source
	err error
}

func (l *lacking) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	dst, err := l.Source.ReadTo(dst, at)
	return dst, errors.Join(err, l.err)
}

// TestHostOfAZoneThatCannotBeRead: the energy that is read is divided, and marked as partial.
func TestHostOfAZoneThatCannotBeRead(t *testing.T) {
	p := newPlant(t, 1, 0)
	s := &lacking{Source: p.chain()}
	h := p.host(share.HostConfig{Source: s})
	for range 4 {
		p.advance(0, 1)
		_, _ = h.Share(p.at)
	}
	for _, err := range []error{nil, errors.New("package-1/energy_uj: may be read by root alone"), nil} {
		s.err = err
		p.advance(0, 1)
		if found, got := h.Share(p.at); found.To.IsZero() || found.Partial != (err != nil) || !errors.Is(got, err) {
			t.Errorf("where the error is %v: %+v, %v", err, found, got)
		}
	}
}

// TestHostOfAGuestThatLeaps: the energy is divided among the others, and the refusal is counted.
func TestHostOfAGuestThatLeaps(t *testing.T) {
	p := newPlant(t, 2, 0)
	h := p.host(share.HostConfig{})
	for range 4 {
		p.advance(0, 1, 1)
		_, _ = h.Share(p.at)
	}
	p.advance(0, 1, 1)
	p.guests[1].CPU += time.Hour
	found, err := h.Share(p.at)
	if !errors.Is(err, energy.ErrImplausible) || len(found.Parts) != 1 || found.Parts[0].Guest != "vm0" || h.Totals().Refused["cpu"] != 1 {
		t.Errorf("%+v, %v, %v", found, err, h.Totals().Refused)
	}
}

// early is a source whose samples are older than their reading, and which has no memory zone until
// a test sets one.
type early struct{ changing }

const age = 100 * time.Millisecond

func (e *early) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	dst, err := e.changing.ReadTo(dst, at)
	dst = slices.DeleteFunc(dst, func(r energy.Reading) bool { return e.name == "one" && strings.HasSuffix(r.Zone, "/dram") })
	for i := range dst {
		dst[i].At = dst[i].At.Add(-age)
	}
	return dst, err
}

// TestHostMemoryComes: a memory zone appears in existing trees: nothing is lost or counted twice,
// and trees have the time of the sample.
func TestHostMemoryComes(t *testing.T) {
	p := newPlant(t, 1, 0)
	s := &early{changing{p.chain(), "one", energy.Measured}}
	h := p.host(share.HostConfig{Source: s})
	for i := range 12 {
		if i == 6 {
			s.name = "two"
		}
		p.advance(0, 1)
		found, err := h.Share(p.at)
		if err != nil && !errors.Is(err, energy.ErrPriming) && !errors.Is(err, source.ErrUnchanged) {
			t.Fatal(i, err)
		}
		if found.To.IsZero() {
			continue
		}
		zones := mustRead(t, filepath.Join(p.dir, "vm0"))
		if want := 1 + i/6; len(zones) != want {
			t.Fatalf("%d: %+v, want %d zones", i, zones, want)
		}
		sum := 0.
		for _, z := range zones {
			sum += float64(z.Micro) * 1e-6
			if want := p.at.Add(-age); !z.At.Equal(want) {
				t.Errorf("%d: %s is of %v, want %v", i, z.Name, z.At, want)
			}
		}
		if charged := h.Totals().Guests["vm0"]; math.Abs(sum-charged) > 1e-5 || i == 11 && charged == 0 {
			t.Errorf("%d: %g J published, %g charged", i, sum, charged)
		}
	}
}

func TestHostRefuses(t *testing.T) {
	p := newPlant(t, 1, 0)
	good := share.HostConfig{Dir: p.dir, Source: p.chain(), Guests: p, CPU: func() (time.Duration, int, error) { return 0, 1, nil }}
	for name, spoil := range map[string]func(*share.HostConfig){
		"Dir":    func(c *share.HostConfig) { c.Dir = "" },
		"Source": func(c *share.HostConfig) { c.Source = nil },
		"CPU":    func(c *share.HostConfig) { c.CPU = nil },
		"Guests": func(c *share.HostConfig) { c.Guests = nil },
		"Idle":   func(c *share.HostConfig) { c.Divider.Idle = "odd" },
	} {
		c := good
		spoil(&c)
		var bad *field.Error
		if _, err := share.NewHost(c); !errors.As(err, &bad) || bad.Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(p.dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("a directory was made for nothing:", err)
	}
	h := p.host(share.HostConfig{})
	if _, err := share.NewHost(good); !errors.Is(err, share.ErrLocked) {
		t.Error(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
