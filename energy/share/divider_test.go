package share_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/share"
	"github.com/spazio-scheduler/spazio/field"
)

// rig is a machine of 8 cores that takes 40 W, 10 W a busy core, and 5 W of memory besides;
// and its guests.
type rig struct {
	at       time.Time
	pkg, mem float64
	busy     time.Duration
	guests   []share.Guest
}

const rigCores = 8

func newRig(vcpus ...int) *rig {
	r := &rig{at: time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC)}
	for i, n := range vcpus {
		r.guests = append(r.guests, share.Guest{Name: fmt.Sprint("vm", i), VCPUs: n, Instance: 1})
	}
	return r
}

// run advances a second in which guests keep cores busy, and the host others.
func (r *rig) run(host float64, cores ...float64) {
	total := host
	for i, c := range cores {
		r.guests[i].CPU += time.Duration(c * float64(time.Second))
		total += c
	}
	r.busy += time.Duration(total * float64(time.Second))
	r.pkg += 40 + 10*total
	r.mem += 5
	r.at = r.at.Add(time.Second)
}

func (r *rig) look() *share.Look {
	return &share.Look{
		Readings: []energy.Reading{
			{Zone: "package-0", Counter: uint64(math.Round(r.pkg * 1e6)), Range: 262143328850, At: r.at},
			{Zone: "package-0/core", Counter: uint64(math.Round(r.pkg * 5e5)), Range: 262143328850, At: r.at, Part: true},
			{Zone: "package-0/dram", Counter: uint64(math.Round(r.mem * 1e6)), Range: 262143328850, At: r.at},
		},
		Busy: r.busy, Cores: rigCores, Guests: r.guests,
	}
}

func newDivider(t *testing.T, c share.DividerConfig) *share.Divider {
	t.Helper()
	d, err := share.NewDivider(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func divide(t *testing.T, d *share.Divider, l *share.Look) share.Division {
	t.Helper()
	found, err := d.Divide(l)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// learn shows a divider all loads, the idle machine last.
func learn(t *testing.T, d *share.Divider, r *rig) {
	t.Helper()
	if _, err := d.Divide(r.look()); !errors.Is(err, energy.ErrPriming) {
		t.Fatal(err)
	}
	for _, load := range []float64{8, 6, 4, 2, 1, 0} {
		for range 20 {
			r.run(load)
			divide(t, d, r.look())
		}
	}
}

// TestDivide uses the true power of the rig: 10 J a core-second, and 45 W idle by the rule.
func TestDivide(t *testing.T) {
	for _, c := range []struct {
		idle  share.Idle
		parts []float64 // of guests of 2 and 4 vCPUs that take 1 and .5 cores
		idleW float64   // that stays the machine's
	}{
		{share.IdleVCPU, []float64{10 + 45.*2/8, 5 + 45.*4/8}, 45. * 2 / 8},
		{share.IdleEven, []float64{10 + 22.5, 5 + 22.5}, 0},
		{share.IdleNone, []float64{10, 5}, 45},
	} {
		t.Run(string(c.idle), func(t *testing.T) {
			r := newRig(2, 4)
			d := newDivider(t, share.DividerConfig{Idle: c.idle})
			learn(t, d, r)
			r.run(.25, 1, .5)
			found := divide(t, d, r.look())
			for i, p := range found.Parts {
				if math.Abs(p.Joules-c.parts[i]) > .05 || p.Guest != r.guests[i].Name || !(p.SD >= 0 && p.SD < p.Joules) {
					t.Errorf("%+v, want %g J", p, c.parts[i])
				}
			}
			if math.Abs(found.Rest.Idle-c.idleW) > .05 || math.Abs(found.Rest.System-2.5) > .05 || found.Rest.Ended != 0 || found.Rest.RatioSplit {
				t.Errorf("%+v", found.Rest)
			}
			if math.Abs(found.Memory-5/62.5) > 1e-6 || found.Partial || found.Joules != 62.5 || !found.To.Equal(r.at) {
				t.Errorf("%+v", found)
			}
		})
	}
}

// TestDivideConserves: for any load and guests, the parts and the rest add up to the machine's
// energy, and no part is negative.
func TestDivideConserves(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for _, idle := range []share.Idle{share.IdleVCPU, share.IdleEven, share.IdleNone} {
		r := newRig()
		d := newDivider(t, share.DividerConfig{Idle: idle})
		var node, divided float64
		var cpu [30]time.Duration
		for i := range 3000 {
			r.guests = r.guests[:0]
			for j := range random.IntN(30) {
				cpu[j] = max(cpu[j]+time.Duration(random.Int64N(int64(10*time.Second)))-time.Second, 0) // may run backwards, or leap
				r.guests = append(r.guests, share.Guest{
					Name: fmt.Sprintf("vm%02d", j), VCPUs: random.IntN(9), Instance: uint64(random.IntN(2)), CPU: cpu[j],
				})
			}
			r.run(8 * random.Float64())
			found, err := d.Divide(r.look())
			if i == 0 {
				continue
			}
			if err != nil && !errors.Is(err, energy.ErrBackwards) && !errors.Is(err, energy.ErrImplausible) {
				t.Fatal(err)
			}
			sum := found.Rest.Idle + found.Rest.System + found.Rest.Ended
			for _, p := range found.Parts {
				if !(p.Joules >= 0 && p.SD >= 0 && p.Idle >= 0 && p.Idle <= p.Joules*(1+1e-12)) {
					t.Fatalf("%+v", p)
				}
				sum += p.Joules
			}
			if math.Abs(sum-found.Joules) > 1e-9*found.Joules || found.Rest.Idle < 0 || found.Rest.System < 0 {
				t.Fatalf("%g J divided into %g: %+v", found.Joules, sum, found)
			}
			node, divided = node+found.Joules, divided+sum
		}
		if want := r.pkg + r.mem; math.Abs(divided-node) > 1e-9*node || node > want || node < .99*want {
			t.Errorf("%v: %g J divided of %g", idle, divided, want)
		}
	}
}

// TestDivideCPUTimeThatCannotBe: a guest whose CPU time fell, or grew by more than 8 cores give in
// a second, was not measured. Its neighbour, of 1 core, is charged its use and its own part of 45
// W, and the next second the guest is right again.
func TestDivideCPUTimeThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		idle  share.Idle
		idleW float64 // of each of two guests of 4 vCPUs
	}{{share.IdleVCPU, 22.5}, {share.IdleEven, 22.5}, {share.IdleNone, 0}} {
		for by, want := range map[time.Duration]error{
			time.Hour: energy.ErrImplausible, 9 * time.Second: energy.ErrImplausible, 1 << 62: energy.ErrImplausible, -time.Second: energy.ErrBackwards,
		} {
			r := newRig(4, 4)
			d := newDivider(t, share.DividerConfig{Idle: c.idle})
			learn(t, d, r)
			r.run(.5, 1, 2)
			divide(t, d, r.look())
			r.run(.5, 1)
			r.guests[1].CPU += by
			found, err := d.Divide(r.look())
			if !errors.Is(err, want) || !strings.Contains(err.Error(), `"vm1"`) || strings.Contains(err.Error(), `"vm0"`) {
				t.Errorf("by %v: %v, want %v of vm1", by, err, want)
			}
			if p := found.Parts; len(p) != 1 || p[0].Guest != "vm0" || math.Abs(p[0].Joules-(10+c.idleW)) > .05 {
				t.Errorf("%v, by %v: %+v, want vm0 and %g J", c.idle, by, p, 10+c.idleW)
			}
			if sum := found.Parts[0].Joules + found.Rest.Idle + found.Rest.System; math.Abs(sum-60) > 1e-6 || found.Joules != 60 {
				t.Errorf("%v, by %v: %g J of %g J, want 60", c.idle, by, sum, found.Joules)
			}
			r.run(.5, 1, 2)
			if p := divide(t, d, r.look()).Parts; len(p) != 2 || math.Abs(p[1].Joules-(20+c.idleW)) > .05 {
				t.Errorf("%v, by %v: afterwards %+v, want %g J", c.idle, by, p, 20+c.idleW)
			}
		}
	}
}

// TestDivideLateCPUTime: guests may be read a little later than the machine, and less often than
// energy: 8 cores for 3.05 s are no jump in an interval of 3 s.
func TestDivideLateCPUTime(t *testing.T) {
	r := newRig(8)
	d := newDivider(t, share.DividerConfig{Idle: share.IdleNone})
	learn(t, d, r)
	for range 3 {
		r.run(0, 8)
	}
	r.guests[0].CPU += 8 * 50 * time.Millisecond
	if p := divide(t, d, r.look()).Parts; len(p) != 1 || math.Abs(p[0].Joules-240) > .5 {
		t.Errorf("%+v, want 240 J", p)
	}
	// The time of the readings may differ from that of the call.
	r.run(0, 8)
	l := r.look()
	l.At = r.at
	divide(t, d, l)
	for range 3 {
		r.run(0, 8)
	}
	l = r.look()
	l.At = r.at
	for i := range l.Readings {
		l.Readings[i].At = l.Readings[i].At.Add(-time.Second)
	}
	if p := divide(t, d, l).Parts; len(p) != 1 {
		t.Errorf("of readings a second old: %+v", p)
	}
}

// TestDivideMachineThatLeaps: if the machine's own CPU time is impossible, nothing is divided or
// learnt, and the next second is right again.
func TestDivideMachineThatLeaps(t *testing.T) {
	for by, want := range map[time.Duration]error{time.Hour: energy.ErrImplausible, -time.Hour: energy.ErrBackwards} {
		r := newRig(4)
		r.busy = 2 * time.Hour
		d := newDivider(t, share.DividerConfig{Idle: share.IdleNone})
		learn(t, d, r)
		idle, _ := d.Idle()
		r.run(1, 1)
		r.busy += by
		// No guest is charged, and nothing is lost: all of the machine's energy is the rest's.
		found, err := d.Divide(r.look())
		if !errors.Is(err, want) || len(found.Parts) > 0 || !(found.Joules > 0) || found.Rest.System != found.Joules || found.Rest.Idle != 0 {
			t.Errorf("by %v: %+v, %v, want %v", by, found, err, want)
		}
		if now, known := d.Idle(); !known || now != idle {
			t.Errorf("by %v the idle power went from %g W to %g W", by, idle, now)
		}
		r.run(1, 1)
		if p := divide(t, d, r.look()).Parts; len(p) != 1 || math.Abs(p[0].Joules-10) > .05 {
			t.Errorf("by %v: afterwards %+v, want 10 J", by, p)
		}
	}
}

// TestDivideUneven: if the machine's packages are unevenly loaded and power is not linear in load,
// the guests' parts have a larger deviation than under even load.
func TestDivideUneven(t *testing.T) {
	power := func(u float64) float64 { return 20 + 60*(2*u-math.Pow(u, 1.4)) } // of each of two
	sd := func(first, second float64) float64 {
		d := newDivider(t, share.DividerConfig{Idle: share.IdleNone})
		l := share.Look{Cores: rigCores, Guests: []share.Guest{{Name: "vm", VCPUs: rigCores}}}
		var joules [2]float64
		at := time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC)
		run := func(loads ...float64) (share.Division, error) {
			l.Readings = l.Readings[:0]
			for i, u := range loads {
				joules[i] += power(u)
				l.Busy += time.Duration(u * rigCores / 2 * float64(time.Second))
				l.Readings = append(l.Readings, energy.Reading{
					Zone: fmt.Sprint("package-", i), Counter: uint64(math.Round(joules[i] * 1e6)), Range: 262143328850, At: at,
				})
			}
			l.Guests[0].CPU = l.Busy
			at = at.Add(time.Second)
			return d.Divide(&l)
		}
		if _, err := run(0, 0); !errors.Is(err, energy.ErrPriming) {
			t.Fatal(err)
		}
		for i := range 220 {
			u := float64(10-i/20) / 10
			if _, err := run(u, u); err != nil {
				t.Fatal(err)
			}
		}
		found, err := run(first, second)
		if err != nil || len(found.Parts) != 1 {
			t.Fatal(found, err)
		}
		return found.Parts[0].SD / found.Parts[0].Joules
	}
	// By the power above four core-seconds cost 82.9 J on a package that is 0.3 busy, 62.5 J on one
	// that is 0.9 and 67.6 J in all: the root mean square error is 13 %.
	if alike, unlike := sd(.6, .6), sd(.3, .9); !(unlike > .1 && unlike > 3*alike) {
		t.Errorf("relative deviations of %v where loads are alike, and of %v", alike, unlike)
	}
}

// TestDivideGuestsCome: guests come, go and restart, and none is charged for earlier CPU time.
func TestDivideGuestsCome(t *testing.T) {
	r := newRig(2)
	d := newDivider(t, share.DividerConfig{Idle: share.IdleNone})
	learn(t, d, r)
	r.guests = append(r.guests, share.Guest{Name: "vm1", VCPUs: 1, CPU: time.Hour, Instance: 1})
	r.run(0, 1)
	if found := divide(t, d, r.look()); len(found.Parts) != 1 {
		t.Errorf("new: %+v", found.Parts)
	}
	r.run(0, 1, 2)
	if found := divide(t, d, r.look()); len(found.Parts) != 2 || math.Abs(found.Parts[1].Joules-20) > .1 {
		t.Errorf("there: %+v", found.Parts)
	}
	r.guests[1].CPU, r.guests[1].Instance = time.Second, 2
	r.run(2)
	if found := divide(t, d, r.look()); len(found.Parts) != 1 || math.Abs(found.Rest.System-20) > .1 {
		t.Errorf("started again: %+v, %+v", found.Parts, found.Rest)
	}
	r.run(0, 0, 1)
	if found := divide(t, d, r.look()); len(found.Parts) != 2 || math.Abs(found.Parts[1].Joules-10) > .1 {
		t.Errorf("there again: %+v", found.Parts)
	}
	r.guests = r.guests[:1]
	r.run(0, 1)
	if found := divide(t, d, r.look()); len(found.Parts) != 1 || math.Abs(found.Parts[0].Joules-10) > .1 {
		t.Errorf("gone: %+v", found.Parts)
	}
}

// TestDivideNameplate: the configured power of the machine counts until it is learnt.
func TestDivideNameplate(t *testing.T) {
	r := newRig(2)
	d := newDivider(t, share.DividerConfig{Curve: energy.CurveConfig{Idle: 45, Max: 125}})
	if _, err := d.Divide(r.look()); !errors.Is(err, energy.ErrPriming) {
		t.Fatal(err)
	}
	r.run(6, 2)
	if found := divide(t, d, r.look()); math.Abs(found.Parts[0].Joules-(20+45./4)) > .01 || math.Abs(found.Rest.Idle-45.*3/4) > .01 || found.Rest.RatioSplit {
		t.Errorf("%+v", found)
	}
}

// TestDividePartial: without a zone the others' energy is divided, nothing is learnt, and the error
// names the zone.
func TestDividePartial(t *testing.T) {
	r := newRig(8)
	d := newDivider(t, share.DividerConfig{})
	learn(t, d, r)
	idle, _ := d.Idle()
	r.run(0, .08) // from which the idle power would be learnt
	l := r.look()
	l.Readings = l.Readings[:2] // no memory
	found, err := d.Divide(l)
	var zone *energy.ZoneError
	if !errors.As(err, &zone) || zone.Zone != "package-0/dram" || !found.Partial || math.Abs(found.Joules-40.8) > 1e-5 || !found.Rest.RatioSplit || found.Memory != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	if now, known := d.Idle(); !known || now != idle {
		t.Error("learnt of a part:", now, idle)
	}
}

// TestDivideRefuses: an invalid call is refused, and changes nothing.
func TestDivideRefuses(t *testing.T) {
	r := newRig(1, 2)
	d, twin := newDivider(t, share.DividerConfig{}), newDivider(t, share.DividerConfig{})
	learn(t, d, r)
	r2 := newRig(1, 2)
	learn(t, twin, r2)
	for name, spoil := range map[string]func(*share.Look){
		"Busy":          func(l *share.Look) { l.Busy = -1 },
		"Cores":         func(l *share.Look) { l.Cores = 0 },
		"Guests.CPU":    func(l *share.Look) { l.Guests = []share.Guest{{Name: "a", CPU: -1}} },
		"Guests.VCPUs":  func(l *share.Look) { l.Guests = []share.Guest{{Name: "a", VCPUs: -1}} },
		"Guests.Name":   func(l *share.Look) { l.Guests = []share.Guest{{Name: "b"}, {Name: "a"}} },
		"len(Guests)":   func(l *share.Look) { l.Guests = make([]share.Guest, share.MaxGuests+1) },
		"len(readings)": func(l *share.Look) { l.Readings = nil },
	} {
		l := *r.look()
		spoil(&l)
		var which *field.Error
		if _, err := d.Divide(&l); !errors.As(err, &which) || which.Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.run(1, .5, .25)
	r2.run(1, .5, .25)
	if d := cmp.Diff(divide(t, twin, r2.look()), divide(t, d, r.look()), cmp.AllowUnexported(share.Division{})); d != "" {
		t.Error("what was refused has changed it:", d)
	}
	for _, idle := range []share.Idle{share.IdleVCPU, share.IdleEven, share.IdleNone} {
		if _, err := share.NewDivider(share.DividerConfig{Idle: idle}); err != nil {
			t.Error(idle, err)
		}
	}
	for _, c := range []share.DividerConfig{{Idle: "usage"}, {Meter: energy.MeterConfig{Step: -1}}, {Curve: energy.CurveConfig{Max: -1}}} {
		var which *field.Error
		if _, err := share.NewDivider(c); !errors.As(err, &which) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestDivideTwoGuests: half of a machine's cores are busy, so that half of its energy is divided,
// by CPU time.
func TestDivideTwoGuests(t *testing.T) {
	d, err := share.NewDivider(share.DividerConfig{Idle: share.IdleNone})
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	look := func(second int, microjoules uint64, busy, db, web time.Duration) *share.Look {
		return &share.Look{
			Readings: []energy.Reading{{Zone: "package-0", Counter: microjoules, At: noon.Add(time.Duration(second) * time.Second)}},
			Busy:     busy, Cores: 4,
			Guests: []share.Guest{{Name: "db", CPU: db, VCPUs: 2}, {Name: "web", CPU: web, VCPUs: 2}},
		}
	}
	if _, err := d.Divide(look(0, 0, 0, 0, 0)); !errors.Is(err, energy.ErrPriming) {
		t.Errorf("first look: %v", err)
	}
	found, err := d.Divide(look(1, 60e6, 2*time.Second, 1500*time.Millisecond, 300*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, p := range found.Parts {
		got[p.Guest] = fmt.Sprintf("%.1f J", p.Joules)
	}
	got["idle"], got["the host"] = fmt.Sprintf("%.1f J", found.Rest.Idle), fmt.Sprintf("%.1f J", found.Rest.System)
	if diff := cmp.Diff(map[string]string{"db": "22.5 J", "web": "4.5 J", "idle": "30.0 J", "the host": "3.0 J"}, got); diff != "" {
		t.Error(diff)
	}
}
