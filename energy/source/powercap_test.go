package source_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs/sysfs"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/field"
)

var start = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// files writes a tree of files and returns its root.
func files(t testing.TB, tree map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range tree {
		write(t, filepath.Join(root, name), text)
	}
	return root
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// zone adds a powercap zone to a tree.
func zone(tree map[string]string, dir, name, energy string) map[string]string {
	at := "class/powercap/" + dir + "/"
	tree[at+"name"], tree[at+"max_energy_range_uj"], tree[at+"energy_uj"] = name+"\n", "262143328850\n", energy+"\n"
	return tree
}

// machines are trees of real kernels.
func machines() map[string]map[string]string {
	none := func() map[string]string { return map[string]string{} }
	laptop := zone(zone(zone(zone(none(), "intel-rapl:0", "package-0", "5000"), "intel-rapl:0:0", "core", "3000"), "intel-rapl:0:1", "uncore", "100"), "intel-rapl:1", "psys", "9000")
	zone(laptop, "intel-rapl-mmio:0", "package-0", "5001")
	server := zone(zone(zone(zone(none(), "intel-rapl:0", "package-0", "1000"), "intel-rapl:0:0", "dram", "200"), "intel-rapl:1", "package-1", "3000"), "intel-rapl:1:0", "dram", "400")
	return map[string]map[string]string{
		"one socket":    zone(none(), "intel-rapl:0", "package-0", "7"),
		"laptop":        laptop,
		"two sockets":   server,
		"mmio alone":    zone(none(), "intel-rapl-mmio:0", "package-0", "8"),
		"dies":          zone(zone(none(), "intel-rapl:0", "package-0-die-0", "1"), "intel-rapl:1", "package-0-die-1", "2"),
		"alike names":   zone(zone(none(), "intel-rapl:0", "package-0", "1"), "intel-rapl:1", "package-0", "2"),
		"other names":   zone(zone(none(), "intel-rapl:0", "socket", "1"), "intel-rapl:0:0", "dimm", "2"),
		"twelve, sorts": zone(zone(zone(none(), "intel-rapl:1", "package-1", "1"), "intel-rapl:10", "package-10", "2"), "intel-rapl:1:0", "dram", "3"),
	}
}

// microjoules returns the counter of each zone.
func microjoules(readings []energy.Reading) map[string]uint64 {
	out := map[string]uint64{}
	for _, r := range readings {
		name := r.Zone
		if r.Part {
			name = "(" + name + ")"
		}
		out[name] = r.Counter
	}
	return out
}

// TestPowercap checks which zones exist and which are summed, parts in parentheses.
func TestPowercap(t *testing.T) {
	want := map[string]map[string]uint64{
		"one socket":    {"package-0": 7},
		"laptop":        {"package-0": 5000, "(package-0/core)": 3000, "(package-0/uncore)": 100, "(psys)": 9000},
		"two sockets":   {"package-0": 1000, "package-0/dram": 200, "package-1": 3000, "package-1/dram": 400},
		"mmio alone":    {"package-0": 8},
		"dies":          {"package-0-die-0": 1, "package-0-die-1": 2},
		"alike names":   {"package-0": 1, "intel-rapl:1": 2},
		"other names":   {"socket": 1, "(socket/dimm)": 2},
		"twelve, sorts": {"package-1": 1, "package-10": 2, "package-1/dram": 3},
	}
	for name, tree := range machines() {
		t.Run(name, func(t *testing.T) {
			p, err := source.NewPowercap(source.PowercapConfig{Root: filepath.Join(files(t, tree), "class/powercap")})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			readings, err := p.ReadTo(nil, after(1))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want[name], microjoules(readings)); d != "" {
				t.Error(d)
			}
			for _, r := range readings {
				if r.Range != 262143328850 || !r.At.Equal(after(1)) || r.Gauge {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// TestPsys: the platform's own sum is used if it exists, and the packages otherwise.
func TestPsys(t *testing.T) {
	for name, want := range map[string]map[string]uint64{
		"laptop":     {"(package-0)": 5000, "(package-0/core)": 3000, "(package-0/uncore)": 100, "psys": 9000},
		"one socket": {"package-0": 7},
	} {
		p, err := source.NewPowercap(source.PowercapConfig{Root: filepath.Join(files(t, machines()[name]), "class/powercap"), Zones: source.Psys})
		if err != nil {
			t.Fatal(err)
		}
		readings, _ := p.ReadTo(nil, after(1))
		if d := cmp.Diff(want, microjoules(readings)); d != "" {
			t.Error(name, d)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAgainstProcfs: Prometheus' reader sees the same counters, except for those that
// intel-rapl-mmio doubles.
func TestAgainstProcfs(t *testing.T) {
	for name, tree := range machines() {
		root := files(t, tree)
		fs, err := sysfs.NewFS(root)
		if err != nil {
			t.Fatal(err)
		}
		zones, err := sysfs.GetRaplZones(fs)
		if err != nil {
			t.Fatal(err)
		}
		want := map[uint64]uint64{}
		for _, z := range zones {
			if name == "laptop" && strings.Contains(z.Path, "mmio") {
				continue
			}
			v, err := z.GetEnergyMicrojoules()
			if err != nil {
				t.Fatal(err)
			}
			want[v] = z.MaxMicrojoules
		}
		p, err := source.NewPowercap(source.PowercapConfig{Root: filepath.Join(root, "class/powercap")})
		if err != nil {
			t.Fatal(err)
		}
		readings, _ := p.ReadTo(nil, after(1))
		got := map[uint64]uint64{}
		for _, r := range readings {
			got[r.Counter] = r.Range
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(name, d)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPowercapMalformed: an invalid counter is named, and the other zones are read.
func TestPowercapMalformed(t *testing.T) {
	for _, text := range []string{"", "\n", "-1\n", "+1\n", "0x10\n", "18446744073709551616\n", "1 2\n", "1e3\n", "12\n\n", strings.Repeat("1", 500), "\x00"} {
		tree := machines()["two sockets"]
		tree["class/powercap/intel-rapl:1/energy_uj"] = text
		root := filepath.Join(files(t, tree), "class/powercap")
		p, err := source.NewPowercap(source.PowercapConfig{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		readings, err := p.ReadTo(nil, after(1))
		var name *field.Error
		if !errors.As(err, &name) || !errors.Is(err, source.ErrMalformed) || name.Field != filepath.Join(root, "intel-rapl:1/energy_uj") {
			t.Errorf("%q: %v", text, err)
		}
		if d := cmp.Diff(map[string]uint64{"package-0": 1000, "package-0/dram": 200, "package-1/dram": 400}, microjoules(readings)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
		write(t, filepath.Join(root, "intel-rapl:1/energy_uj"), "3001\n")
		if readings, err = p.ReadTo(readings, after(2)); err != nil || microjoules(readings)["package-1"] != 3001 {
			t.Errorf("%q: mended: %v %v", text, readings, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPowercapMax: the largest counter is valid.
func TestPowercapMax(t *testing.T) {
	root := files(t, zone(map[string]string{}, "intel-rapl:0", "package-0", "18446744073709551615"))
	p, err := source.NewPowercap(source.PowercapConfig{Root: filepath.Join(root, "class/powercap")})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if readings, err := p.ReadTo(nil, start); err != nil || readings[0].Counter != 1<<64-1 {
		t.Error(readings, err)
	}
}

// TestPowercapPartly: a zone without a name, a range or a counter is left out; if none can be read,
// the error has the reason.
func TestPowercapPartly(t *testing.T) {
	for _, missing := range []string{"name", "max_energy_range_uj", "energy_uj"} {
		tree := machines()["two sockets"]
		delete(tree, "class/powercap/intel-rapl:0:0/"+missing)
		p, err := source.NewPowercap(source.PowercapConfig{Root: filepath.Join(files(t, tree), "class/powercap")})
		if err != nil {
			t.Fatal(err)
		}
		readings, err := p.ReadTo(nil, after(1))
		if d := cmp.Diff(map[string]uint64{"package-0": 1000, "package-1": 3000, "package-1/dram": 400}, microjoules(readings)); d != "" {
			t.Error(missing, d)
		}
		if err == nil || !strings.Contains(err.Error(), filepath.Join("intel-rapl:0:0", missing)) {
			t.Errorf("without %s nothing is said of it: %v", missing, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, tree := range map[string]map[string]string{
		"no tree": {}, "no zones": {"class/powercap/README": "", "class/powercap/intel-rapl/enabled": "1"},
		"no counter": {"class/powercap/intel-rapl:0/name": "package-0", "class/powercap/intel-rapl:0/max_energy_range_uj": "5"},
	} {
		root := filepath.Join(files(t, tree), "class/powercap")
		if _, err := source.NewPowercap(source.PowercapConfig{Root: root}); !errors.Is(err, source.ErrNoPower) || !strings.Contains(err.Error(), root) {
			t.Error(name, err)
		}
	}
	if _, err := source.NewPowercap(source.PowercapConfig{Zones: 2}); !errors.Is(err, source.ErrInvalid) {
		t.Error(err)
	}
}

// TestPowercapFollows: a new processor is found within a minute, and one that goes is missing from
// then on.
func TestPowercapFollows(t *testing.T) {
	root := filepath.Join(files(t, machines()["one socket"]), "class/powercap")
	p, err := source.NewPowercap(source.PowercapConfig{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	read := func(at float64) map[string]uint64 {
		t.Helper()
		readings, err := p.ReadTo(nil, after(at))
		if err != nil {
			t.Fatal(err)
		}
		return microjoules(readings)
	}
	read(0)
	for name, text := range map[string]string{"name": "package-1", "max_energy_range_uj": "1000", "energy_uj": "9"} {
		write(t, filepath.Join(root, "intel-rapl:1", name), text)
	}
	if d := cmp.Diff(map[string]uint64{"package-0": 7}, read(59)); d != "" {
		t.Error("too early:", d)
	}
	if d := cmp.Diff(map[string]uint64{"package-0": 7, "package-1": 9}, read(60)); d != "" {
		t.Error("came:", d)
	}
	if err := os.RemoveAll(filepath.Join(root, "intel-rapl:0")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]uint64{"package-1": 9}, read(120)); d != "" {
		t.Error("went:", d)
	}
}

// TestZonesText: it reads what it writes, and rejects other text.
func TestZonesText(t *testing.T) {
	for _, z := range []source.Zones{source.PackageDRAM, source.Psys} {
		text, err := z.MarshalText()
		var back source.Zones
		if err != nil || back.UnmarshalText(text) != nil || back != z || z.String() != string(text) {
			t.Error(z, string(text), err)
		}
	}
	var z source.Zones
	if err := z.UnmarshalText([]byte("cores")); !errors.Is(err, source.ErrInvalid) {
		t.Error(err)
	}
	if _, err := source.Zones(9).MarshalText(); err == nil || source.Zones(2).String() != "unknown" {
		t.Error(err)
	}
}

// TestPartThatCannotBeRead: the packages are known if their parts, or the zones that contain them,
// are not. A package that cannot be read is missing.
func TestPartThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		missing    bool
	}{
		"a part's counter":      {"intel-rapl:0:1/energy_uj", "", false},
		"a part's range":        {"intel-rapl:0:1/max_energy_range_uj", "-1\n", false},
		"psys":                  {"intel-rapl:2/energy_uj", "nan\n", false},
		"a package's counter":   {"intel-rapl:1/energy_uj", "", true},
		"a package's range":     {"intel-rapl:1/max_energy_range_uj", "", true},
		"memory that is summed": {"intel-rapl:0:0/energy_uj", "", true},
	} {
		tree := machines()["two sockets"]
		zone(zone(tree, "intel-rapl:0:1", "core", "500"), "intel-rapl:2", "psys", "9000")
		root := filepath.Join(files(t, tree), "class/powercap")
		write(t, filepath.Join(root, c.file), c.text)
		p, err := source.NewPowercap(source.PowercapConfig{Root: root})
		if err != nil {
			t.Fatal(name, err)
		}
		sum := 0
		readings, err := p.ReadTo(nil, start)
		for _, r := range readings {
			if !r.Part {
				sum += int(r.Counter)
			}
		}
		if (err != nil) != c.missing || (sum == 4600) == c.missing {
			t.Errorf("%s: %d µJ of 4600, %v", name, sum, err)
		}
		_ = p.Close()
	}
}

// TestTwinThatReads: of two drivers that show the same package, the readable counter is used,
// whether the other is closed or without data.
func TestTwinThatReads(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"no data": func(path string) error { return os.Truncate(path, 0) },
		"closed":  os.Remove,
		"neither": func(string) error { return nil },
	} {
		tree := zone(zone(map[string]string{}, "intel-rapl:0", "package-0", "7"), "intel-rapl-mmio:0", "package-0", "8")
		root := filepath.Join(files(t, tree), "class/powercap")
		if err := spoil(filepath.Join(root, "intel-rapl:0/energy_uj")); err != nil {
			t.Fatal(err)
		}
		p, err := source.NewPowercap(source.PowercapConfig{Root: root})
		if err != nil {
			t.Fatal(name, err)
		}
		readings, err := p.ReadTo(nil, start)
		want := uint64(8)
		if name == "neither" {
			want = 7
		}
		if len(readings) != 1 || readings[0].Counter != want || err != nil {
			t.Errorf("%s: %v, %v", name, readings, err)
		}
		_ = p.Close()
	}
}
