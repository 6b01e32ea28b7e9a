package fakerapl_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/energy/source/fakerapl"
)

// chain works as an agent does: counters once a second, pods every five.
type chain struct {
	t       *testing.T
	machine *fakerapl.Machine
	source  *source.Powercap
	meter   *energy.Meter
	curve   *energy.Curve
	cores   float64

	readings []energy.Reading
	packages []float64 // joules of each, since pods were charged last
	joules   float64   // of all
	variance float64
	busy     float64
	seconds  float64
}

func newChain(t *testing.T, c fakerapl.Config) *chain {
	t.Helper()
	c.Dir = t.TempDir()
	m, err := fakerapl.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := source.NewPowercap(source.PowercapConfig{Root: filepath.Join(c.Dir, "class/powercap")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	meter, err := energy.NewMeter(energy.MeterConfig{MaxWatts: .9 * c.Range})
	if err != nil {
		t.Fatal(err)
	}
	curve, err := energy.NewCurve(energy.CurveConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return &chain{t: t, machine: m, source: s, meter: meter, curve: curve, cores: float64(c.Sockets * c.Cores)}
}

// second takes a reading, with the core-seconds that were busy since the last.
func (c *chain) second(at time.Time, busy float64) {
	c.t.Helper()
	var err error
	if c.readings, err = c.source.ReadTo(c.readings, at); err != nil {
		c.t.Fatal(err)
	}
	in, err := c.meter.Add(c.readings)
	if err != nil {
		return // the first
	}
	seconds := in.To.Sub(in.From).Seconds()
	if err := c.curve.Learn(min(busy/seconds/c.cores, 1), in.Watts); err != nil {
		c.t.Fatal(err)
	}
	c.joules, c.variance = c.joules+in.Joules, c.variance+in.SD*in.SD
	c.busy, c.seconds = c.busy+busy, c.seconds+seconds
	for i, joules := range in.Packages {
		if i == len(c.packages) {
			c.packages = append(c.packages, 0)
		}
		c.packages[i] += joules
	}
}

// charge divides the energy since the last call among consumers.
func (c *chain) charge(consumers []energy.Consumer) []energy.Share {
	c.t.Helper()
	idle, known := c.curve.Idle()
	u := c.busy / c.seconds / c.cores
	residual := math.Hypot(c.curve.Residual(u), c.curve.Uneven(u, c.seconds, c.packages))
	account := energy.Account{
		Joules: c.joules, SD: math.Sqrt(c.variance), Idle: idle * c.seconds, IdleKnown: known,
		Busy: c.busy, Tree: c.busy, Capacity: c.cores * c.seconds, Residual: residual, Consumers: consumers,
	}
	shares, rest, err := energy.Split{}.AttributeTo(nil, &account)
	if err != nil || rest.RatioSplit == known {
		c.t.Fatal(err, rest)
	}
	c.joules, c.variance, c.busy, c.seconds, c.packages = 0, 0, 0, 0, c.packages[:0]
	return shares
}

// TestChain: counters wrap every few seconds on two sockets, and pods differ tenfold. The machine's
// energy is right within a two-hundredth, each pod's within a twentieth overall, and nine of ten
// single intervals within two deviations; also if the second socket is less busy in some of them
// than the first.
func TestChain(t *testing.T) {
	for _, test := range []struct{ shape, load, lag float64 }{
		{0, .1, 0}, {0, .5, 0}, {0, 1, 0}, {1.4, .1, 0}, {1.4, .5, 0}, {1.4, 1, 0},
		{0, .5, .5}, {1.4, .7, .4}, {1.4, .5, .5}, {1.4, 1, .3}, {1.8, .5, .3},
	} {
		t.Run(fmt.Sprintf("shape %v, load %v, lag %v", test.shape, test.load, test.lag), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(10*test.load), uint64(10*test.shape)))
			c := newChain(t, fakerapl.Config{
				Sockets: 2, Cores: 8, Idle: 20, Max: 70, DRAM: 5, Shape: test.shape, Range: 100, Noise: .02, Random: random,
			})
			r := run{chain: c, random: random, pods: make([]fakerapl.Consumer, 10), charged: make([]float64, 10)}
			for i := range r.pods {
				r.pods[i].Socket = i % 2
			}
			r.warm()
			r.lag = test.lag
			r.measure(test.load)
		})
	}
}

// run is a chain under load.
type run struct {
	*chain
	random  *rand.Rand
	pods    []fakerapl.Consumer
	charged []float64
	tenths  int
	before  []float64
	cpu     []time.Duration
	// lag is the largest difference in load of the second socket, and late the present one.
	lag, late float64
}

func (r *run) now() time.Time {
	return time.Unix(1e9, 0).Add(time.Duration(r.tenths) * 100 * time.Millisecond)
}

// tenth keeps the machine that busy for a tenth of a second, pods in unequal parts.
func (r *run) tenth(load float64) float64 {
	r.t.Helper()
	r.tenths++
	busy := 0.0
	for socket := range 2 {
		var weights [10]float64
		sum := 0.0
		for i := socket; i < len(r.pods); i += 2 {
			weights[i] = float64(1+i) * (.5 + r.random.Float64())
			sum += weights[i]
		}
		of := load
		if load < 1 {
			of *= .8 + .4*r.random.Float64()
		}
		if socket == 1 {
			of *= 1 - r.late
		}
		for i := socket; i < len(r.pods); i += 2 {
			cpu := .1 * 8 * of * weights[i] / sum
			r.pods[i].CPU += time.Duration(cpu * 1e9)
			busy += cpu
		}
	}
	if err := r.machine.Advance(r.now(), r.pods); err != nil {
		r.t.Fatal(err)
	}
	return busy
}

func (r *run) oneSecond(load float64) {
	r.t.Helper()
	busy := 0.0
	for range 10 {
		busy += r.tenth(load)
	}
	r.second(r.now(), busy)
}

// warm shows the curve all loads.
func (r *run) warm() {
	for range 30 {
		for _, load := range []float64{0, .1, .3, .5, .7, .9, 1} {
			r.oneSecond(load)
		}
	}
	r.charge(nil)
	_, r.before = r.machine.Truth()
	r.cpu = make([]time.Duration, len(r.pods))
	for i, p := range r.pods {
		r.cpu[i] = p.CPU
	}
}

// measure charges pods for a hundred intervals of five seconds and judges them.
func (r *run) measure(load float64) {
	r.t.Helper()
	node, first := r.machine.Truth()
	metered := total(r.meter)
	within, all := 0, 0
	var doubt, errs, size float64
	for range 100 {
		if r.lag > 0 {
			r.late = r.lag * r.random.Float64()
		}
		for range 5 {
			r.oneSecond(load)
		}
		consumers := make([]energy.Consumer, len(r.pods))
		for i, p := range r.pods {
			consumers[i] = energy.Consumer{Key: uint64(i), CPU: (p.CPU - r.cpu[i]).Seconds()}
			r.cpu[i] = p.CPU
		}
		shares := r.charge(consumers)
		_, truth := r.machine.Truth()
		for i, s := range shares {
			r.charged[i] += s.Joules
			missed := s.Joules - (truth[i] - r.before[i])
			doubt, errs, size = doubt+s.SD*s.SD, errs+missed*missed, size+s.Joules*s.Joules
			if all++; math.Abs(s.Joules-(truth[i]-r.before[i])) <= 2*s.SD {
				within++
			}
		}
		r.before = truth
	}
	after, truth := r.machine.Truth()
	if got, want := total(r.meter)-metered, after-node; math.Abs(got-want) > .005*want {
		r.t.Errorf("the machine: %v J, in truth %v", got, want)
	}
	for i := range r.pods {
		if got, want := r.charged[i], truth[i]-first[i]; math.Abs(got-want) > .05*want {
			r.t.Errorf("pod %d: %v J, in truth %v", i, got, want)
		}
	}
	if all < 200 || float64(within) < .9*float64(all) {
		r.t.Errorf("the truth is within two deviations %d times of %d", within, all)
	}
	r.t.Logf("within two deviations %d of %d; relative deviation %.3f, error %.3f", within, all, math.Sqrt(doubt/size), math.Sqrt(errs/size))
}

func total(m *energy.Meter) (sum float64) {
	for _, z := range m.TotalsTo(nil) {
		sum += z.Joules
	}
	return sum
}

// TestMachine by hand: two packages of two cores, of 10 to 50 W and 1 to 5 W of memory, for two
// steps of half a second; a consumer on one causes no energy on the other.
func TestMachine(t *testing.T) {
	for _, test := range []struct {
		name  string
		shape float64
		// These are the powers of a package above idle with half of it busy, and all.
		half, full float64
	}{
		{"linear", 0, 20 + 2, 40 + 4},
		{"linear, as a shape", 1, 20 + 2, 40 + 4},
		{"concave", 2, 40*.75 + 2, 40 + 4}, // 2·½ − ½²
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			m, err := fakerapl.New(fakerapl.Config{Dir: dir, Sockets: 2, Cores: 2, Idle: 10, Max: 50, DRAM: 5, Shape: test.shape, Range: 1000})
			if err != nil {
				t.Fatal(err)
			}
			pods := []fakerapl.Consumer{{Socket: 0, CPU: time.Hour}, {Socket: 1}, {Socket: 1}}
			start := time.Unix(1e9, 0)
			advance := func(at time.Duration, took ...time.Duration) {
				for i, cpu := range took {
					pods[i].CPU += cpu
				}
				if err := m.Advance(start.Add(at), pods); err != nil {
					t.Fatal(err)
				}
			}
			const ms = time.Millisecond
			advance(0)
			advance(500*ms, 500*ms, 750*ms, 250*ms)  // half, full
			advance(1000*ms, 500*ms, 125*ms, 375*ms) // half, half
			advance(1000*ms, 500*ms, 500*ms, 500*ms) // no time has passed
			node, truth := m.Truth()
			want := []float64{test.half, .5*.75*test.full + .5*.25*test.half, .5*.25*test.full + .5*.75*test.half}
			loads := []fakerapl.Load{{Busy: 1, Joules: want[0]}, {Busy: 1.5, Joules: want[1] + want[2]}}
			near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
			if d := cmp.Diff(want, truth, near); d != "" {
				t.Errorf("consumers (-want +got): %s", d)
			}
			if d := cmp.Diff(loads, m.Loads(), near); d != "" {
				t.Errorf("packages (-want +got): %s", d)
			}
			if want := 22 + loads[0].Joules + loads[1].Joules; math.Abs(node-want) > 1e-9 {
				t.Errorf("the node took %v J, want %v", node, want)
			}
			sum := 0.
			for i, zone := range []string{"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1", "intel-rapl:1:0"} {
				text, err := os.ReadFile(filepath.Join(dir, "class/powercap", zone, "energy_uj"))
				if err != nil {
					t.Fatal(err)
				}
				micro, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
				if err != nil {
					t.Fatal(err)
				}
				// Memory has a second of half load; half a second of full load and of half.
				if want := map[int]float64{1: 3, 3: 4}[i]; want > 0 && math.Abs(micro*1e-6-want) > 2*fakerapl.Unit {
					t.Errorf("%s: %v µJ, want %v J", zone, micro, want)
				}
				sum += micro * 1e-6
			}
			if math.Abs(sum-node) > 5*fakerapl.Unit {
				t.Errorf("counters say %v J, the node took %v", sum, node)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNoise: the power of load has noise of the configured deviation, idle power has none.
func TestNoise(t *testing.T) {
	m, err := fakerapl.New(fakerapl.Config{
		Dir: t.TempDir(), Sockets: 1, Cores: 1, Idle: 10, Max: 110, Noise: .1, Random: rand.New(rand.NewPCG(1, 2)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const steps = 4000
	pods := []fakerapl.Consumer{{}}
	var last, sum, squares float64
	for i := range steps + 1 {
		if err := m.Advance(time.Unix(int64(i), 0), pods); err != nil {
			t.Fatal(err)
		}
		node, _ := m.Truth()
		if i > 0 {
			sum, squares = sum+node-last-10, squares+(node-last-10)*(node-last-10)
		}
		last = node
		pods[0].CPU += time.Second
	}
	mean := sum / steps
	if sd := math.Sqrt(squares/steps - mean*mean); math.Abs(mean-100) > 5*10/math.Sqrt(steps) || math.Abs(sd-10) > 5*10/math.Sqrt(2*steps) {
		t.Errorf("a load of 100 W ± 10 took %v W ± %v", mean, sd)
	}
	for i := range 2 { // the last second of load, and one without
		if err := m.Advance(time.Unix(steps+1+int64(i), 0), pods); err != nil {
			t.Fatal(err)
		}
		last = sum
		sum, _ = m.Truth()
	}
	if math.Abs(sum-last-10) > 1e-9 {
		t.Errorf("a second without load took %v J", sum-last)
	}
}

// TestConfig: a value out of range is named.
func TestConfig(t *testing.T) {
	good := fakerapl.Config{Dir: t.TempDir(), Sockets: 1, Cores: 4, Idle: 10, Max: 40}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*fakerapl.Config){
		"Dir": func(c *fakerapl.Config) { c.Dir = "" }, "Sockets": func(c *fakerapl.Config) { c.Sockets = 0 },
		"Cores": func(c *fakerapl.Config) { c.Cores = -1 }, "Max": func(c *fakerapl.Config) { c.Max = 0 },
		"Idle": func(c *fakerapl.Config) { c.Idle = 50 }, "Noise": func(c *fakerapl.Config) { c.Noise = .1 },
		"DRAM": func(c *fakerapl.Config) { c.DRAM = math.NaN() },
	} {
		c := good
		change(&c)
		if _, err := fakerapl.New(c); err == nil {
			t.Error(name, "is taken")
		}
	}
}
