package energy_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
)

var start = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// counter is a reading of a counter of 1,000 J.
func counter(zone string, joules, seconds float64) energy.Reading {
	return energy.Reading{Zone: zone, Counter: uint64(math.Round(joules * 1e6)), Range: 1000e6, At: after(seconds)}
}

func gauge(zone string, watts, seconds float64) energy.Reading {
	return energy.Reading{Zone: zone, Gauge: true, Watts: watts, At: after(seconds)}
}

func newMeter(t testing.TB, c energy.MeterConfig) *energy.Meter {
	t.Helper()
	m, err := energy.NewMeter(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// causes returns the zones of err with their causes.
func causes(err error) map[string]string {
	out := map[string]string{}
	var list []error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	} else if err != nil {
		list = []error{err}
	}
	for _, e := range list {
		var z *energy.ZoneError
		if errors.As(e, &z) {
			out[z.Zone] = z.Cause()
		}
	}
	return out
}

// TestMeterSteps: of two zones b is always well and takes 20 J in 2 s; a has the listed faults.
func TestMeterSteps(t *testing.T) {
	unlimited := energy.Reading{Zone: "a", Counter: 50e6, At: after(0)}
	for name, c := range map[string]struct {
		before, now energy.Reading
		joules      float64 // of a
		cause       string
	}{
		"goes on":            {counter("a", 100, 0), counter("a", 130, 2), 30, ""},
		"stands still":       {counter("a", 100, 0), counter("a", 100, 2), 0, ""},
		"wraps":              {counter("a", 990, 0), counter("a", 5, 2), 15, ""},
		"reset":              {counter("a", 100, 0), counter("a", 0, 2), 0, "implausible"},
		"leaps":              {counter("a", 100, 0), counter("a", 301, 2), 0, "implausible"},
		"just possible":      {counter("a", 100, 0), counter("a", 300, 2), 200, ""},
		"same time":          {counter("a", 100, 0), counter("a", 130, 0), 0, "no_interval"},
		"earlier":            {counter("a", 100, 0), counter("a", 130, -1), 0, "no_interval"},
		"too long":           {counter("a", 100, 0), counter("a", 130, 10), 0, "gap"},
		"just short enough":  {counter("a", 100, 0), counter("a", 130, 9.99), 30, ""},
		"beyond its range":   {counter("a", 100, 0), counter("a", 1001, 2), 0, "implausible"},
		"no range":           {unlimited, energy.Reading{Zone: "a", Counter: 60e6, At: after(1000)}, 10, ""},
		"no range, fallen":   {unlimited, energy.Reading{Zone: "a", Counter: 40e6, At: after(2)}, 0, "backwards"},
		"another range":      {unlimited, counter("a", 60, 2), 0, "priming"},
		"gauge":              {gauge("a", 10, 0), gauge("a", 30, 2), 40, ""},
		"gauge, implausible": {gauge("a", 10, 0), gauge("a", 101, 2), 0, "implausible"},
		"counter to gauge":   {counter("a", 10, 0), gauge("a", 10, 2), 0, "priming"},
		"gone":               {counter("a", 10, 0), energy.Reading{}, 0, "missing"},
		"new":                {energy.Reading{}, counter("a", 10, 2), 0, "priming"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMeter(t, energy.MeterConfig{MaxWatts: 100})
			add := func(a, b energy.Reading) (energy.Interval, error) {
				if a.Zone == "" {
					return m.Add([]energy.Reading{b})
				}
				return m.Add([]energy.Reading{a, b})
			}
			if _, err := add(c.before, counter("b", 500, 0)); !errors.Is(err, energy.ErrPriming) {
				t.Fatal("first reading:", err)
			}
			in, err := add(c.now, counter("b", 520, 2))
			want := map[string]string{}
			if c.cause != "" {
				want["a"] = c.cause
			}
			if d := cmp.Diff(want, causes(err)); d != "" {
				t.Fatal("refused (-want +got):", d)
			}
			if in.Partial != (c.cause != "") {
				t.Error("Partial", in.Partial)
			}
			if math.Abs(in.Joules-(20+c.joules)) > 1e-9 {
				t.Errorf("%v J, want %v", in.Joules, 20+c.joules)
			}
			if in.Partial && in.Watts != 0 {
				t.Error("a partial interval tells the node's power:", in.Watts)
			}
			for _, z := range m.TotalsTo(nil) {
				joules, refused := c.joules, uint64(0)
				if z.Zone == "b" {
					joules = 20
				}
				// The first reading of each zone is refused as well; that of a new zone alone is an
				// error only for it.
				refused++
				if z.Zone == "a" && c.cause != "" && c.before.Zone != "" {
					refused++
				}
				if math.Abs(z.Joules-joules) > 1e-9 || z.Refused != refused {
					t.Errorf("total of %s: %v J, %d refused, want %v, %d", z.Zone, z.Joules, z.Refused, joules, refused)
				}
			}
		})
	}
}

// TestMeterGoesOn: after each fault the next good reading gives an interval from the faulty one,
// unless that one is useless.
func TestMeterGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		fault energy.Reading
		again bool // needs a reading more
	}{
		"reset":            {counter("a", 0, 2), false},
		"too long":         {counter("a", 200, 60), false},
		"earlier":          {counter("a", 200, -5), false},
		"beyond its range": {counter("a", 1001, 2), true},
		"gone":             {counter("b", 0, 2), true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMeter(t, energy.MeterConfig{MaxWatts: 100})
			_, _ = m.Add([]energy.Reading{counter("a", 100, 0)})
			if _, err := m.Add([]energy.Reading{c.fault}); err == nil {
				t.Fatal("no fault")
			}
			at, from := 62.0, 5.0
			if c.fault.Zone == "a" && !c.again {
				at, from = c.fault.At.Sub(start).Seconds()+1, float64(c.fault.Counter)/1e6
			} else {
				if _, err := m.Add([]energy.Reading{counter("a", from, at-1)}); causes(err)["a"] != "priming" {
					t.Fatal("after a reading that tells nothing:", err)
				}
			}
			in, err := m.Add([]energy.Reading{counter("a", from+7, at)})
			if err != nil || in.Partial || math.Abs(in.Joules-7) > 1e-9 || math.Abs(in.Watts-7) > 1e-9 {
				t.Fatal(in, err)
			}
		})
	}
}

// TestParts: a zone that another contains is reported and neither summed nor missed.
func TestParts(t *testing.T) {
	m := newMeter(t, energy.MeterConfig{MaxWatts: 100})
	part := func(joules, at float64) energy.Reading {
		r := counter("package-0/core", joules, at)
		r.Part = true
		return r
	}
	_, _ = m.Add([]energy.Reading{counter("package-0", 0, 0), part(0, 0)})
	in, err := m.Add([]energy.Reading{counter("package-0", 8, .5), part(6, .5)})
	if err != nil || in.Joules != 8 || in.Watts != 16 || in.Partial {
		t.Fatal(in, err)
	}
	var told []string
	for _, z := range in.Zones {
		told = append(told, z.Zone+" "+strconv.FormatFloat(z.Joules, 'g', -1, 64)+" "+strconv.FormatBool(z.Part))
	}
	if d := cmp.Diff([]string{"package-0 8 false", "package-0/core 6 true"}, told); d != "" {
		t.Error(d)
	}
	in, err = m.Add([]energy.Reading{counter("package-0", 9, .75)})
	if causes(err)["package-0/core"] != "missing" || in.Partial || in.Joules != 1 || in.Watts != 4 {
		t.Error("without the part:", in, err)
	}
}

// TestOwnTimes: a zone that is read late has its own interval, and the node's power is the sum of
// the zones' powers.
func TestOwnTimes(t *testing.T) {
	m := newMeter(t, energy.MeterConfig{MaxWatts: 100})
	_, _ = m.Add([]energy.Reading{counter("a", 0, 0), counter("b", 0, 0)})
	in, err := m.Add([]energy.Reading{counter("a", 10, 1), counter("b", 40, 2)})
	if err != nil || in.Watts != 30 || in.Joules != 50 {
		t.Fatal(in, err)
	}
	if !in.From.Equal(after(0)) || !in.To.Equal(after(1.5)) {
		t.Error(in.From, in.To)
	}
}

// TestIntervalSD by hand: √((step² + (P·jitter)²)/6) a zone.
func TestIntervalSD(t *testing.T) {
	m := newMeter(t, energy.MeterConfig{MaxWatts: 100, Step: .003, Jitter: 10 * time.Millisecond})
	_, _ = m.Add([]energy.Reading{counter("a", 0, 0), gauge("g", 5, 0)})
	in, err := m.Add([]energy.Reading{counter("a", .8, 2), gauge("g", 8, 2)})
	if err != nil {
		t.Fatal(err)
	}
	zone := math.Sqrt((.003*.003 + .004*.004) / 6)
	if math.Abs(in.Zones[0].SD-zone) > 1e-12 || math.Abs(in.Zones[1].SD-3*2/math.Sqrt(12)) > 1e-12 {
		t.Error(in.Zones)
	}
	if want := math.Sqrt(zone*zone + 3); math.Abs(in.SD-want) > 1e-12 {
		t.Error(in.SD, want)
	}
}

// TestWrap: a register of 100 J, in hardware's units of 2⁻¹⁴ J, runs over a million intervals at up
// to 90 W: a wrap costs the unit that the range leaves out.
func TestWrap(t *testing.T) {
	const unit = 1.0 / (1 << 14)
	units := uint64(100 / unit)
	micro := func(n uint64) uint64 { return uint64(math.Round(float64(n) * unit * 1e6)) }
	m := newMeter(t, energy.MeterConfig{MaxWatts: 90})
	random := rand.New(rand.NewPCG(1, 1))
	var spent float64
	at := start
	_, _ = m.Add([]energy.Reading{{Zone: "package-0", Range: micro(units - 1), At: at}})
	for range 1_000_000 {
		seconds := .5 + .5*random.Float64()
		spent += 89 * random.Float64() * seconds
		at = at.Add(time.Duration(seconds * 1e9))
		r := energy.Reading{Zone: "package-0", Range: micro(units - 1), Counter: micro(uint64(spent/unit) % units), At: at}
		if _, err := m.Add([]energy.Reading{r}); err != nil {
			t.Fatal(err)
		}
	}
	wraps := math.Floor(spent / 100)
	lost := spent - m.TotalsTo(nil)[0].Joules
	if lost < -unit || lost > wraps*61e-6+unit {
		t.Errorf("%v of %v J lost in %v wraps: %v µJ a wrap", lost, spent, wraps, lost/wraps*1e6)
	}
	t.Logf("%.1f MJ, %.0f wraps, %.2f µJ lost a wrap", spent/1e6, wraps, lost/wraps*1e6)
}

// TestMeterTwin compares a meter with one that keeps all readings, over random faults.
func TestMeterTwin(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		m := newMeter(t, energy.MeterConfig{MaxWatts: 50})
		twin := naiveMeter{max: 50, last: map[string]energy.Reading{}, total: map[string]float64{}}
		now := 0.0
		for range 50 {
			now += random.Float64() * 3
			if random.IntN(20) == 0 {
				now -= 4
			}
			var all []energy.Reading
			for i, zone := range []string{"a", "b", "c"} {
				if random.IntN(8) == 0 {
					continue
				}
				r := counter(zone, math.Mod(now*float64(10*(i+1))+30*random.Float64(), 1000), now)
				if random.IntN(15) == 0 {
					r.Counter = uint64(random.IntN(2000e6))
				}
				all = append(all, r)
			}
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			if len(all) == 0 {
				continue
			}
			in, _ := m.Add(all)
			joules, partial := twin.add(all)
			if math.Abs(in.Joules-joules) > 1e-9 {
				t.Fatalf("%v J, the twin has %v", in.Joules, joules)
			}
			if in.Partial != partial && !in.From.IsZero() {
				t.Fatalf("partial %v, the twin has %v", in.Partial, partial)
			}
		}
		for _, z := range m.TotalsTo(nil) {
			if math.Abs(z.Joules-twin.total[z.Zone]) > 1e-6 {
				t.Fatalf("total of %s: %v, the twin has %v", z.Zone, z.Joules, twin.total[z.Zone])
			}
		}
	}
}

type naiveMeter struct {
	max   float64
	last  map[string]energy.Reading
	total map[string]float64
}

func (m *naiveMeter) add(all []energy.Reading) (joules float64, partial bool) {
	next := map[string]energy.Reading{}
	for _, r := range all {
		p, known := m.last[r.Zone]
		j, ok := m.took(p, r)
		if known && ok {
			joules += j
			m.total[r.Zone] += j
		} else {
			partial = true
		}
		if r.Counter <= r.Range {
			next[r.Zone] = r
		}
	}
	for zone := range m.last {
		gone := true
		for _, r := range all {
			gone = gone && r.Zone != zone
		}
		partial = partial || gone
	}
	m.last = next
	return joules, partial
}

func (m *naiveMeter) took(p, r energy.Reading) (float64, bool) {
	seconds := r.At.Sub(p.At).Seconds()
	j := float64(r.Counter) - float64(p.Counter)
	if j < 0 {
		j += float64(r.Range)
	}
	j /= 1e6
	ok := r.Counter <= r.Range && seconds > 0 && m.max*seconds < float64(r.Range)/1e6 && j <= m.max*seconds
	return j, ok
}

// TestMeterDefaults: zones of up to 1000 W, a step of 61 µJ, a millisecond of jitter.
func TestMeterDefaults(t *testing.T) {
	m := newMeter(t, energy.MeterConfig{})
	read := func(joules, watts, at float64) []energy.Reading {
		return []energy.Reading{{Zone: "a", Counter: uint64(joules * 1e6), At: after(at)}, gauge("g", watts, at)}
	}
	_, _ = m.Add(read(0, 1000, 0))
	in, err := m.Add(read(600, 0, 1))
	if want := math.Sqrt((61e-6*61e-6 + .6*.6) / 6); err != nil || math.Abs(in.Zones[0].SD-want) > 1e-9 {
		t.Error(in, err, want)
	}
	in, err = m.Add(read(1600, 1000, 2)) // the most there can be
	if err != nil || in.Joules != 1500 {
		t.Error(in, err)
	}
	if _, err := m.Add(read(2601, 1001, 3)); len(causes(err)) != 2 {
		t.Error("more than it can take:", err)
	}
	if got := m.TotalsTo([]energy.ZoneTotal{{Zone: "x"}}); len(got) != 2 || got[0].Joules != 1600 {
		t.Error(got)
	}
}

// TestMeterRefuses: an invalid reading is named, and changes nothing.
func TestMeterRefuses(t *testing.T) {
	many := make([]energy.Reading, energy.MaxZones)
	for i := range many {
		many[i] = counter("z"+strconv.Itoa(i), 0, 1)
	}
	for name, c := range map[string]struct {
		readings []energy.Reading
		which    string
	}{
		"none":      {nil, "len(readings)"},
		"no name":   {[]energy.Reading{counter("a", 1, 1), {At: after(1)}}, "readings[1].Zone"},
		"long name": {[]energy.Reading{{Zone: string(make([]byte, 257))}}, "readings[0].Zone"},
		"twice":     {[]energy.Reading{counter("a", 1, 1), counter("a", 1, 1)}, "readings[1].Zone"},
		"NaN":       {[]energy.Reading{gauge("g", math.NaN(), 1)}, "readings[0].Watts"},
		"negative":  {[]energy.Reading{gauge("g", -1, 1)}, "readings[0].Watts"},
		"too many":  {many, "len(readings)"},
		"infinite":  {[]energy.Reading{gauge("g", math.Inf(1), 1)}, "readings[0].Watts"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMeter(t, energy.MeterConfig{MaxWatts: 100})
			_, _ = m.Add([]energy.Reading{counter("a", 0, 0)})
			before := m.TotalsTo(nil)
			_, err := m.Add(c.readings)
			var which *field.Error
			if !errors.As(err, &which) || which.Field != c.which || !errors.Is(err, energy.ErrInvalid) {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, m.TotalsTo(nil)); d != "" {
				t.Error("changed:", d)
			}
			in, err := m.Add([]energy.Reading{counter("a", 1, 1)})
			if err != nil || in.Joules != 1 {
				t.Error("the next reading:", in, err)
			}
		})
	}
}

// TestMeterEdges: the longest name, no power, and as many zones as there may be.
func TestMeterEdges(t *testing.T) {
	m := newMeter(t, energy.MeterConfig{})
	all := []energy.Reading{{Zone: string(make([]byte, 256))}, gauge("g", 0, 0)}
	for i := len(all); i < energy.MaxZones; i++ {
		all = append(all, counter("z"+strconv.Itoa(i), 0, 0))
	}
	if _, err := m.Add(all); !errors.Is(err, energy.ErrPriming) {
		t.Fatal(err)
	}
	all[1].Watts = math.MaxFloat32
	all[1].At = after(1)
	if _, err := m.Add(all); causes(err)["g"] != "implausible" {
		t.Error(err)
	}
	if _, err := m.Add([]energy.Reading{counter("one more", 0, 2)}); err == nil {
		t.Error("one more is taken")
	}
}

// TestConfigErrors: each field of each configuration is checked under its name.
func TestConfigErrors(t *testing.T) {
	for name, err := range map[string]error{
		"MaxWatts": second(energy.NewMeter(energy.MeterConfig{MaxWatts: math.NaN()})),
		"Step":     second(energy.NewMeter(energy.MeterConfig{Step: -1})),
		"Jitter":   second(energy.NewMeter(energy.MeterConfig{Jitter: time.Hour})),
		"Jitter ":  second(energy.NewMeter(energy.MeterConfig{Jitter: -1})),
		"Idle":     second(energy.NewCurve(energy.CurveConfig{Idle: 50, Max: 40})),
		"Max":      second(energy.NewCurve(energy.CurveConfig{Max: math.Inf(1)})),
		"Gain":     second(energy.NewCurve(energy.CurveConfig{Gain: 1.5})),
	} {
		var which *field.Error
		if !errors.As(err, &which) || which.Field != strings.TrimSpace(name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConfigLimits: the extreme valid values are accepted.
func TestConfigLimits(t *testing.T) {
	for name, err := range map[string]error{
		"meter": energy.MeterConfig{MaxWatts: 1e6, Step: 1e3, Jitter: time.Minute}.Validate(),
		"curve": energy.CurveConfig{Idle: 1e6, Max: 1e6, Gain: 1}.Validate(),
	} {
		if err != nil {
			t.Error(name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestMeterPackages: a package's energy is that of its zones that are no parts, in a stable order
// whatever comes between, and missing if a zone is.
func TestMeterPackages(t *testing.T) {
	config := energy.MeterConfig{MaxWatts: 100}
	m := newMeter(t, config)
	read := func(at float64, zones ...string) (energy.Interval, error) {
		var readings []energy.Reading
		for _, zone := range zones {
			took := map[string]float64{"package-1": 3, "package-1/core": 2, "psys": 50, "package-0": 5, "package-1/dram": .5, "package-0/dram": .25}[zone]
			r := counter(zone, took*at, at)
			r.Part = strings.HasSuffix(zone, "/core")
			readings = append(readings, r)
		}
		return m.Add(readings)
	}
	all := []string{"package-1", "package-1/core", "psys", "package-0", "package-1/dram", "package-0/dram"}
	if in, err := read(1, all...); !errors.Is(err, energy.ErrPriming) || in.Packages != nil {
		t.Fatal(in, err)
	}
	for at := 2.; at < 9; at++ {
		in, err := read(at, all...)
		if got := in.Packages; err != nil || len(got) != 2 || !near(got[0], 3.5) || !near(got[1], 5.25) {
			t.Errorf("after %v s: %v, %v", at, got, err)
		}
	}
	for at, less := range [][]string{all[:3], all[1:]} {
		if in, err := read(9+2*float64(at), less...); !in.Partial || in.Packages != nil {
			t.Errorf("without all: %+v, %v", in, err)
		}
		if in, err := read(10+2*float64(at), all...); in.Packages != nil {
			t.Errorf("of what is there again: %+v, %v", in, err)
		}
	}
	m = newMeter(t, config)
	for at := range 3 {
		if in, _ := read(float64(at), "psys"); in.Packages != nil {
			t.Errorf("without packages: %+v", in)
		}
	}
}
