package source_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
)

// bench is a machine of 400 W whose instrument can show any value, with a nameplate for when its
// value is impossible.
type bench struct {
	*source.Chain
	t    *testing.T
	sys  string
	log  bytes.Buffer
	show func(second int) string // what the instrument's file has
	file string
	busy []string // counters beside it, of 40 W
}

func newBench(t *testing.T, tree map[string]string, file string) *bench {
	b := &bench{t: t, sys: files(t, tree), file: file}
	chain, err := source.Open(t.Context(), source.Config{
		Powercap: source.PowercapConfig{Root: filepath.Join(b.sys, "class/powercap")}, SharedRoot: filepath.Join(b.sys, "none"),
		HwmonRoot: filepath.Join(b.sys, "class/hwmon"), Logger: slog.New(slog.NewTextHandler(&b.log, nil)),
		Model: &source.ModelConfig{Idle: 300, Max: 1800, Utilisation: func() (float64, error) { return .2, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = chain.Close() })
	b.Chain = chain
	return b
}

// run reads each second of an interval and returns how often a Meter knew the machine's power by
// each source, as an agent would.
func (b *bench) run(from, to int) map[string]int {
	b.t.Helper()
	known, name := map[string]int{}, ""
	var m *energy.Meter
	var readings []energy.Reading
	for second := from; second < to; second++ {
		if b.show != nil {
			write(b.t, filepath.Join(b.sys, b.file), b.show(second)+"\n")
		}
		for _, file := range b.busy {
			write(b.t, filepath.Join(b.sys, file), fmt.Sprintln(second*40e6))
		}
		readings, _ = b.ReadTo(readings, after(float64(second)))
		if b.Name() != name {
			name = b.Name()
			m, _ = energy.NewMeter(energy.MeterConfig{})
		}
		if len(readings) == 0 {
			continue
		}
		if in, _ := m.Add(readings); !in.Partial && in.Watts > 0 {
			known[name]++
		}
	}
	return known
}

// TestSourceThatAnswersNonsense: a source with impossible readings does not keep those after it
// from being read; the log has one line with the reading, and the source is read again when it
// shows a possible power.
func TestSourceThatAnswersNonsense(t *testing.T) {
	acpi := map[string]string{"class/hwmon/hwmon0/name": "power_meter\n", "class/hwmon/hwmon0/power1_average": "400000000\n"}
	amd := map[string]string{"class/hwmon/hwmon0/name": "amd_energy\n", "class/hwmon/hwmon0/energy1_input": "0\n"}
	rapl := zone(map[string]string{}, "intel-rapl:0", "package-0", "0")
	both := zone(zone(map[string]string{}, "intel-rapl:0", "package-0", "0"), "intel-rapl:1", "package-1", "0")
	micro := func(watts float64) func(int) string {
		return func(second int) string { return fmt.Sprintf("%.0f", watts*1e6*float64(second)) }
	}
	constant := func(text string) func(int) string { return func(int) string { return text } }
	for name, c := range map[string]struct {
		tree   map[string]string
		file   string
		bad    func(second int) string
		good   func(second int) string
		source string
		says   string
	}{
		"a meter's word for unknown": {acpi, "class/hwmon/hwmon0/power1_average", constant("4294967295000"), constant("400000000"), "hwmon", "4294967 W"},
		"a controller's":             {acpi, "class/hwmon/hwmon0/power1_average", constant("65535000000"), constant("400000000"), "hwmon", "65535 W"},
		"a meter of no power":        {acpi, "class/hwmon/hwmon0/power1_average", constant("0"), constant("400000000"), "hwmon", "do not move"},
		"a counter that stands":      {rapl, "class/powercap/intel-rapl:0/energy_uj", constant("123456789"), micro(40), "powercap", "do not move"},
		"a counter that leaps":       {rapl, "class/powercap/intel-rapl:0/energy_uj", func(second int) string { return fmt.Sprint(second % 2 * 130e9) }, micro(40), "powercap", "W"},
		"one of two counters leaps":  {both, "class/powercap/intel-rapl:1/energy_uj", func(second int) string { return fmt.Sprint(second % 2 * 130e9) }, micro(40), "powercap", "package-1"},
		"a counter that falls":       {amd, "class/hwmon/hwmon0/energy1_input", func(second int) string { return fmt.Sprint(1000000000 - second*1000000) }, micro(40), "hwmon", "backwards"},
		"a counter of minutes":       {rapl, "class/powercap/intel-rapl:0/energy_uj", func(second int) string { return fmt.Sprint(second / 60 * 2400000000) }, micro(40), "powercap", "do not move"},
		"a negative number":          {acpi, "class/hwmon/hwmon0/power1_average", constant("-400000000"), constant("400000000"), "hwmon", ""},
		"no number":                  {acpi, "class/hwmon/hwmon0/power1_average", constant("nan"), constant("400000000"), "hwmon", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.tree, c.file)
			b.show = c.bad
			if c.says == "package-1" {
				b.busy = []string{"class/powercap/intel-rapl:0/energy_uj"}
			}
			if known := b.run(0, 180); known["model"] < 160 || known[c.source] > 0 && c.says != "package-1" {
				t.Errorf("of 180 s power is known by %v", known)
			}
			log := b.log.String()
			if n := strings.Count(log, "cannot be read"); n > 1 || !strings.Contains(log, c.says) {
				t.Errorf("passed over %d times:\n%s", n, log)
			}
			b.show = c.good
			if known := b.run(180, 360); known[c.source] < 100 {
				t.Errorf("now that it is good power is known by %v", known)
			}
			b.show = c.bad
			if known := b.run(360, 480); known["model"] < 90 {
				t.Errorf("now that it is bad again power is known by %v", known)
			}
		})
	}
}

// TestOneOfTwoCountersStands: a processor that runs takes energy, so that a sum with a counter
// that stands still is not the machine's. The log names the counter, and once it moves the sum
// is believed again. So it is with memory; a supply in reserve may show 0 for ever.
func TestOneOfTwoCountersStands(t *testing.T) {
	for _, stands := range []string{"package-1", "package-0/dram"} {
		tree := zone(zone(map[string]string{}, "intel-rapl:0", "package-0", "0"), "intel-rapl:1", "package-1", "0")
		zone(tree, "intel-rapl:0:0", "dram", "0")
		b := newBench(t, tree, "")
		dirs := map[string]string{"package-0": "intel-rapl:0", "package-1": "intel-rapl:1", "package-0/dram": "intel-rapl:0:0"}
		move := func(from, to int, still string) map[string]int {
			known := map[string]int{}
			for second := from; second < to; second++ {
				for name, dir := range dirs {
					if name != still {
						write(t, filepath.Join(b.sys, "class/powercap", dir, "energy_uj"), fmt.Sprintln(second*40e6))
					}
				}
				for name, n := range b.run(second, second+1) {
					known[name] += n
				}
			}
			return known
		}
		move(0, 30, "")
		if b.Name() != source.NamePowercap {
			t.Fatalf("all move: %s is read", b.Name())
		}
		move(30, 60, stands)
		if log := b.log.String(); b.Name() != source.NameModel || strings.Count(log, "cannot be read") != 1 || !strings.Contains(log, stands) {
			t.Errorf("%s stands: %s is read\n%s", stands, b.Name(), log)
		}
		if move(60, 180, ""); b.Name() != source.NamePowercap {
			t.Errorf("%s moves again: %s is read", stands, b.Name())
		}
	}
	nothing := newBench(t, zone(zone(map[string]string{}, "intel-rapl:0", "package-0", "0"), "intel-rapl:0:0", "dram", "0"), "")
	nothing.busy = []string{"class/powercap/intel-rapl:0/energy_uj"}
	known := nothing.run(0, 60)[source.NamePowercap]
	if known < 55 {
		t.Errorf("with memory that counts nothing power is known in %d of 60 seconds\n%s", known, nothing.log.String())
	}
	reserve := newBench(t, map[string]string{
		"class/hwmon/hwmon0/name": "power_meter\n", "class/hwmon/hwmon0/power1_average": "400000000\n", "class/hwmon/hwmon0/power1_oem_info": "PSU1\n",
		"class/hwmon/hwmon0/power2_average": "0\n", "class/hwmon/hwmon0/power2_oem_info": "PSU2\n",
	}, "")
	if known := reserve.run(0, 60); known[source.NameHwmon] < 55 {
		t.Errorf("with a supply in reserve power is known by %v\n%s", known, reserve.log.String())
	}
}

// TestReadingThatIsRefused: a refusal has its reason from the first time on, before the source is
// passed over.
func TestReadingThatIsRefused(t *testing.T) {
	b := newBench(t, zone(zone(map[string]string{}, "intel-rapl:0", "package-0", "0"), "intel-rapl:1", "package-1", "0"), "class/powercap/intel-rapl:0/energy_uj")
	refused := 0
	for second := range 30 {
		write(t, filepath.Join(b.sys, b.file), fmt.Sprintln(second*40e6))
		readings, err := b.ReadTo(nil, after(float64(second)))
		if len(readings) == 2 && err != nil {
			refused++
			if !errors.Is(err, source.ErrStill) || !strings.Contains(err.Error(), "package-1") || strings.Contains(err.Error(), "package-0") {
				t.Errorf("second %d: %v", second, err)
			}
		}
	}
	if refused != 2 {
		t.Errorf("%d readings came with the reason, want the two before the source is passed over", refused)
	}
}

// TestCounterThatMovesSeldom: a counter's energy is divided by the time since its last step,
// however many seconds that is, also if a single second looked like more than a package takes.
func TestCounterThatMovesSeldom(t *testing.T) {
	for _, seldom := range []int{1, 2, 5, 8} {
		for _, watts := range []int{40, 300} {
			b := newBench(t, zone(map[string]string{}, "intel-rapl:0", "package-0", "0"), "")
			m, _ := energy.NewMeter(energy.MeterConfig{})
			known := 0
			for second := range 240 {
				write(t, filepath.Join(b.sys, "class/powercap/intel-rapl:0/energy_uj"), fmt.Sprintln(second/seldom*seldom*watts*1000000))
				readings, _ := b.ReadTo(nil, after(float64(second)))
				if len(readings) == 0 || b.Name() != source.NamePowercap {
					continue
				}
				in, err := m.Add(readings)
				if err != nil {
					continue // the first
				}
				if known++; in.Watts < float64(watts)-.01 || in.Watts > float64(watts)+.01 {
					t.Fatalf("each %d s, second %d: %g W of %d", seldom, second, in.Watts, watts)
				}
			}
			if known < 160/seldom-3 {
				t.Errorf("each %d s: power is known %d times\n%s", seldom, known, b.log.String())
			}
		}
	}
}

// TestCounterTooShortToCount: a counter that wraps more often than it is read shows no power, and
// one without a range does.
func TestCounterTooShortToCount(t *testing.T) {
	for limit, want := range map[string]string{"0": "powercap", "1": "model", "1000": "model", "65532610987": "powercap", "18446744073709551615": "powercap"} {
		tree := zone(map[string]string{}, "intel-rapl:0", "package-0", "0")
		tree["class/powercap/intel-rapl:0/max_energy_range_uj"] = limit + "\n"
		b := newBench(t, tree, "class/powercap/intel-rapl:0/energy_uj")
		b.show = func(second int) string {
			if want == "model" {
				return fmt.Sprint(second % 2)
			}
			return fmt.Sprint(second * 40000000)
		}
		if known := b.run(0, 100); known[want] < 90 || len(known) > 1 && known["model"] > 2 && want != "model" {
			t.Errorf("a range of %s: power is known by %v\n%s", limit, known, b.log.String())
		}
	}
}

// TestSumThatIsNotRead: if the platform's counter is configured and cannot be read, its parts are
// no substitute, and the next source is read.
func TestSumThatIsNotRead(t *testing.T) {
	tree := zone(zone(map[string]string{}, "intel-rapl:0", "package-0", "0"), "intel-rapl:1", "psys", "")
	root := filepath.Join(files(t, tree), "class/powercap")
	chain, err := source.Open(t.Context(), source.Config{Powercap: source.PowercapConfig{Root: root, Zones: source.Psys}, SharedRoot: root, HwmonRoot: root})
	if err != nil {
		t.Fatal(err)
	}
	defer chain.Close()
	for second := range 20 {
		write(t, filepath.Join(root, "intel-rapl:0/energy_uj"), fmt.Sprintln(second*40000000))
		readings, err := chain.ReadTo(nil, after(float64(second)))
		if second > 0 && (len(readings) > 0 || !errors.Is(err, source.ErrRefused) || strings.Contains(err.Error(), "%!")) {
			t.Fatal(second, readings, err)
		}
	}
}
