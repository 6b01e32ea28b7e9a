package compare

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/procfs/sysfs"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/slice"
)

// The order is forwards, then backwards: A B B A for two schedulers.
func TestTurns(t *testing.T) {
	want := []turn{{0, 0}, {1, 0}, {2, 0}, {2, 1}, {1, 1}, {0, 1}, {0, 2}, {1, 2}, {2, 2}}
	if diff := cmp.Diff(want, turns(3, 3), cmp.AllowUnexported(turn{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLabels(t *testing.T) {
	got := labels([]string{"spazio", "a", "spazio", "spazio"})
	if diff := cmp.Diff([]string{"spazio", "a", "spazio (2)", "spazio (3)"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Kills are due within the run, of that many different pods, none of the outward tiers; each pair
// has its own, and each scheduler the same.
func TestKills(t *testing.T) {
	c := DefaultConfig()
	c.Seed = 7
	first := c.kills(0)
	var times []time.Duration
	for _, k := range first {
		times = append(times, k.at)
		if len(k.replicas) != 3 {
			t.Errorf("%v: %v, want three", k.at, k.replicas)
		}
		for i, r := range k.replicas {
			if r.tier == "front" || r.tier == "media" || r.number < 0 || r.number > 2 || slices.Contains(k.replicas[:i], r) {
				t.Errorf("%v: %v", k.at, k.replicas)
			}
		}
	}
	if diff := cmp.Diff([]time.Duration{20 * time.Second, 40 * time.Second}, times); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	unexported := cmp.AllowUnexported(kill{}, replica{})
	if diff := cmp.Diff(first, c.kills(0), unexported); diff != "" {
		t.Errorf("again (-first +again):\n%s", diff)
	}
	if cmp.Equal(first, c.kills(1), unexported) {
		t.Error("two pairs kill the same")
	}
	other := c
	other.Seed++
	if cmp.Equal(first, other.kills(0), unexported) {
		t.Error("two seeds kill the same")
	}
	c.Kill = 0
	if got := c.kills(0); got != nil {
		t.Errorf("none: %v", got)
	}
}

// All pods have a place: nine tiers with that many.
func TestReplicas(t *testing.T) {
	all := replicas(3)
	slices.SortFunc(all, func(a, b replica) int { return strings.Compare(a.String(), b.String()) })
	if len(all) != 27 || len(slices.Compact(all)) != 27 {
		t.Errorf("%v", all)
	}
}

func TestValidate(t *testing.T) {
	good := DefaultConfig()
	if err := good.validate(2); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"Schedulers": func(c *Config) { c.Schedulers = []string{""} }, "Runs": func(c *Config) { c.Runs = -1 },
		"Duration": func(c *Config) { c.Duration = time.Millisecond }, "WarmUp": func(c *Config) { c.WarmUp = -1 },
		"Kill": func(c *Config) { c.Kill = 22 }, "KillEvery": func(c *Config) { c.KillEvery = time.Millisecond },
		"Replicas": func(c *Config) { c.Replicas = 25 },
		"MostLate": func(c *Config) { c.MostLate = math.NaN() },
	} {
		c := good
		change(&c)
		err := c.validate(2)
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != name || !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	c := good
	c.Rate = -1
	var refused *field.Error
	if err := c.validate(2); !errors.As(err, &refused) || refused.Field != "Rate" {
		t.Errorf("rate: %v", err)
	}
}

// Slices share all CPUs without overlap; the first has the remainder.
func TestSlices(t *testing.T) {
	b := &bench{slices: 3, cpus: []int{0, 1, 2, 3, 5, 8, 9, 10}}
	if diff := cmp.Diff([][]int{{0, 1, 2, 3}, {5, 8}, {9, 10}}, [][]int{b.slice(0), b.slice(1), b.slice(2)}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// powercap writes a tree of two zones that wrap at a thousand joules.
func powercap(t *testing.T, root string, package0, dram string) {
	t.Helper()
	for zone, text := range map[string][2]string{"intel-rapl:0": {"package-0", package0}, "intel-rapl:0:0": {"dram", dram}} {
		dir := filepath.Join(root, "class/powercap", zone)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{"name": text[0], "max_energy_range_uj": "1000000000", "energy_uj": text[1]} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Counters are subtracted across a wrap.
func TestCounters(t *testing.T) {
	root := t.TempDir()
	powercap(t, root, "999000000", "5000000")
	c, err := newCounters(root)
	if err != nil {
		t.Fatal(err)
	}
	from, err := c.read()
	if err != nil {
		t.Fatal(err)
	}
	powercap(t, root, "00000000000002500000", "5250000")
	to, err := c.read()
	if err != nil {
		t.Fatal(err)
	}
	if got := c.joules(from, to); math.Abs(got-3.75) > 1e-9 { // 1 J to the end, 2.5 J after it; .25 J of the memory
		t.Errorf("%v J, want 3.75", got)
	}
	if _, err := newCounters(t.TempDir()); err == nil {
		t.Error("no counters: no error")
	}
}

// The scheduler and the agents are charged their part, by CPU time, of each host's energy above its
// idle power: of 20 J a quarter, of 10 J a fifth. A process on no host has none, and one that came
// later counts from its beginning.
func TestOverhead(t *testing.T) {
	s := &site{hosts: []slice.Host{{Name: "a", Idle: 10}, {Name: "b", Idle: 20}}}
	for range s.hosts {
		s.counters = append(s.counters, counters{"package": sysfs.RaplZone{MaxMicrojoules: 1e9}})
	}
	began := time.Unix(1000, 0)
	from := state{at: began, readings: []reading{{"package": 1e6}, {"package": 2e6}}, cpu: map[*member]time.Duration{}, own: time.Second}
	to := state{at: began.Add(4 * time.Second), readings: []reading{{"package": 61e6}, {"package": 92e6}}, cpu: map[*member]time.Duration{}, own: 1100 * time.Millisecond}
	const ms = time.Millisecond
	for _, m := range []struct {
		role     string
		host     int
		from, to time.Duration
	}{
		{roleScheduler, 0, 100 * ms, 600 * ms}, {roleApp, 0, 200 * ms, 1700 * ms}, {roleAgent, 1, 0, 200 * ms},
		{roleApp, 1, 100 * ms, 600 * ms}, {roleApp, 1, 0, 300 * ms}, {roleLoad, -1, 0, 3000 * ms},
	} {
		of := &member{role: m.role, host: m.host}
		to.cpu[of] = m.to
		if m.from > 0 {
			from.cpu[of] = m.from
		}
	}
	want := taken{seconds: 4, joules: 150, overhead: 7, cpu: map[string]float64{"scheduler": .5, "agent": .2, "app": 2.3, "load": 3, "harness": .1}}
	if diff := cmp.Diff(want, s.between(from, to), cmp.AllowUnexported(taken{}), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A scheduler without any valid run makes no comparison.
func TestEnough(t *testing.T) {
	r := Report{Schedulers: []string{"a", "b"}, Runs: []runResult{{Scheduler: "a"}, {Scheduler: "b", Void: "late"}}}
	if err := enough(r); !errors.Is(err, ErrVoid) || !strings.Contains(err.Error(), "none of b counts: late") {
		t.Errorf("error %v", err)
	}
	r.Runs = append(r.Runs, runResult{Scheduler: "b"})
	if err := enough(r); err != nil {
		t.Errorf("error %v", err)
	}
}
