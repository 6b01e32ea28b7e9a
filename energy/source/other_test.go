package source_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/field"
)

// publish writes a counter as a host does: a new file with the time of its sample.
func publish(t *testing.T, root, zone, micro string, sampled time.Time) {
	t.Helper()
	path := filepath.Join(root, "class/powercap", zone, "energy_uj")
	write(t, path+".new", micro+"\n")
	if err := os.Chtimes(path+".new", sampled, sampled); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestShared: a host publishes each second by its own clock, and a guest reads.
func TestShared(t *testing.T) {
	root := files(t, zone(zone(map[string]string{}, "intel-rapl:0", "package-0", "0"), "intel-rapl:0:0", "dram", "0"))
	host := func(second float64) time.Time { return after(-3600 + second) } // an hour behind
	both := func(micro string, second float64) {
		publish(t, root, "intel-rapl:0", micro, host(second))
		publish(t, root, "intel-rapl:0:0", micro, host(second))
	}
	both("100", 0)
	s, err := source.NewShared(root)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		before  func()
		at      float64
		counter uint64 // 0: none
		err     error
	}{
		{nil, 0, 0, source.ErrUnchanged}, // how old is it?
		{nil, .9, 0, source.ErrUnchanged},
		{func() { both("200", 1) }, 1.1, 200, nil},
		{nil, 1.2, 0, source.ErrUnchanged},
		{func() { publish(t, root, "intel-rapl:0", "300", host(2)) }, 2, 0, source.ErrUnchanged}, // half of it
		{func() { publish(t, root, "intel-rapl:0:0", "300", host(2)) }, 2.1, 300, nil},
		{nil, 5.1, 0, source.ErrUnchanged},
		{nil, 5.2, 0, source.ErrStale},
		{func() { both("400", 9) }, 9, 400, nil},
		{func() { both("350", 8) }, 9.5, 350, nil}, // the host's clock was set: a Meter reports it
	} {
		if step.before != nil {
			step.before()
		}
		readings, err := s.ReadTo(nil, after(step.at))
		if !errors.Is(err, step.err) || (len(readings) == 2) != (step.counter > 0) {
			t.Fatalf("step %d: %v %v", i, readings, err)
		}
		for _, r := range readings {
			if r.Counter != step.counter || r.At.After(host(10)) || r.Range != 262143328850 {
				t.Errorf("step %d: %+v", i, r)
			}
		}
	}
	if err := os.RemoveAll(filepath.Join(root, "class")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadTo(nil, after(20)); !errors.Is(err, source.ErrNoPower) {
		t.Error(err)
	}
	if _, err := source.NewShared(root); !errors.Is(err, source.ErrNoPower) {
		t.Error(err)
	}
}

// TestHwmon: each chip's sensors are classified, and the best one is used.
func TestHwmon(t *testing.T) {
	meter := map[string]string{"hwmon1/name": "power_meter\n", "hwmon1/power1_average": "150000000\n", "hwmon1/power1_input": "1\n"}
	amd := map[string]string{
		"hwmon0/name": "amd_energy", "hwmon0/energy1_input": "11\n", "hwmon0/energy1_label": "Ecore000\n",
		"hwmon0/energy2_input": "22\n", "hwmon0/energy2_label": "Esocket0\n", "hwmon0/energy3_input": "33\n", "hwmon0/energy3_label": "Esocket1\n",
	}
	both := map[string]string{}
	for _, tree := range []map[string]string{meter, amd} {
		for k, v := range tree {
			both[k] = v
		}
	}
	platform, measured := energy.Platform, energy.Measured
	for name, c := range map[string]struct {
		tree    map[string]string
		quality energy.Quality
		want    []energy.Reading
	}{
		"a platform's meter": {meter, platform, []energy.Reading{{Zone: "hwmon1/power_meter/power1", Gauge: true, Watts: 150, MaxWatts: energy.MaxMachineWatts}}},
		"sockets":            {amd, measured, []energy.Reading{{Zone: "hwmon0/amd_energy/energy2", Counter: 22}, {Zone: "hwmon0/amd_energy/energy3", Counter: 33}}},
		"the best":           {both, measured, []energy.Reading{{Zone: "hwmon0/amd_energy/energy2", Counter: 22}, {Zone: "hwmon0/amd_energy/energy3", Counter: 33}}},
		"without labels":     {map[string]string{"hwmon0/name": "amd_energy", "hwmon0/energy1_input": "11\n"}, measured, []energy.Reading{{Zone: "hwmon0/amd_energy/energy1", Counter: 11}}},
		"an input alone":     {map[string]string{"hwmon4/name": "fam15h_power", "hwmon4/power1_input": "45500000"}, measured, []energy.Reading{{Zone: "hwmon4/fam15h_power/power1", Gauge: true, Watts: 45.5}}},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := source.NewHwmon(files(t, c.tree))
			if err != nil {
				t.Fatal(err)
			}
			got, err := h.ReadTo(nil, after(3))
			for i := range c.want {
				c.want[i].At = after(3)
			}
			if d := cmp.Diff(c.want, got); d != "" || err != nil || h.Quality() != c.quality {
				t.Error(d, err, h.Quality())
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	for name, tree := range map[string]map[string]string{
		"nothing": {"x": ""}, "a card": {"hwmon0/name": "amdgpu", "hwmon0/power1_average": "9"},
		"no sensor": {"hwmon0/name": "amd_energy"}, "no name": {"hwmon0/power1_average": "9"},
	} {
		root := files(t, tree)
		if _, err := source.NewHwmon(root); !errors.Is(err, source.ErrNoPower) || !strings.Contains(err.Error(), root) {
			t.Error(name, err)
		}
	}
	if _, err := source.NewHwmon(filepath.Join(t.TempDir(), "none")); !errors.Is(err, source.ErrNoPower) {
		t.Error(err)
	}
}

// TestHwmonComesAgain: chips that disappear and return under other names are found.
func TestHwmonComesAgain(t *testing.T) {
	root := files(t, map[string]string{"hwmon0/name": "power_meter", "hwmon0/power1_average": "7000000\n"})
	h, err := source.NewHwmon(root)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	write(t, filepath.Join(root, "hwmon0/power1_average"), "") // as a device that is gone
	if got, err := h.ReadTo(nil, after(1)); err == nil || len(got) > 0 {
		t.Error("gone:", got)
	}
	if err := os.Rename(filepath.Join(root, "hwmon0"), filepath.Join(root, "hwmon3")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "hwmon3/power1_average"), "9000000\n")
	if got, err := h.ReadTo(nil, after(2)); err != nil || len(got) != 1 || got[0].Zone != "hwmon3/power_meter/power1" || got[0].Watts != 9 {
		t.Error("came again:", got, err)
	}
}

// TestHwmonMalformed: the other sensors are read, and the error names the bad one.
func TestHwmonMalformed(t *testing.T) {
	root := files(t, map[string]string{"hwmon0/name": "power_meter", "hwmon0/power1_average": "-5\n", "hwmon0/power1_oem_info": "PSU1", "hwmon0/power2_average": "7000000\n", "hwmon0/power2_oem_info": "PSU2"})
	h, err := source.NewHwmon(root)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	got, err := h.ReadTo(nil, start)
	var name *field.Error
	if !errors.As(err, &name) || name.Field != filepath.Join(root, "hwmon0/power1_average") || len(got) != 1 || got[0].Watts != 7 {
		t.Error(got, err)
	}
}

// TestModel: idle 40 W and 120 at full, by the utilisation since the last reading.
func TestModel(t *testing.T) {
	u, failed := 0.0, error(nil)
	m, err := source.NewModel(source.ModelConfig{Idle: 40, Max: 120, Utilisation: func() (float64, error) { return u, failed }})
	if err != nil {
		t.Fatal(err)
	}
	meter, _ := energy.NewMeter(energy.MeterConfig{})
	read := func(at float64) (energy.Interval, error) {
		readings, err := m.ReadTo(nil, after(at))
		if err != nil {
			return energy.Interval{}, err
		}
		return meter.Add(readings)
	}
	_, _ = read(0)
	for i, c := range []struct{ u, watts float64 }{{0, 40}, {.5, 80}, {1, 120}, {.25, 60}} {
		u = c.u
		if in, err := read(float64(i+1) * 2); err != nil || math.Abs(in.Watts-c.watts) > 1e-3 {
			t.Error(c, in, err)
		}
	}
	for _, bad := range []float64{-.1, 1.1, math.NaN()} {
		u = bad
		if _, err := read(20); !errors.Is(err, source.ErrMalformed) {
			t.Error(bad, err)
		}
	}
	u, failed = 0, os.ErrClosed
	if _, err := read(21); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

// TestOpen: an invalid configuration is named, and a source that is requested by name must exist.
func TestOpen(t *testing.T) {
	usable := func() (float64, error) { return 0, nil }
	for name, c := range map[string]source.Config{
		"Source":         {Source: "guess"},
		"Powercap.Zones": {Powercap: source.PowercapConfig{Zones: 7}},
		"Redfish":        {Source: source.NameRedfish},
		"Model":          {Source: source.NameModel},
		"URL":            {Redfish: &source.RedfishConfig{URL: "http://bmc/redfish/v1/Chassis/1/Power"}},
		"Max":            {Model: &source.ModelConfig{Idle: 1, Utilisation: usable}},
		"Idle":           {Model: &source.ModelConfig{Idle: 5, Max: 4, Utilisation: usable}},
		"Utilisation":    {Model: &source.ModelConfig{Idle: 1, Max: 4}},
	} {
		var refused *field.Error
		if _, err := source.Open(t.Context(), c); !errors.As(err, &refused) || refused.Field != name || !errors.Is(err, source.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	nowhere := filepath.Join(t.TempDir(), "none")
	c := source.Config{Source: source.NamePowercap, Powercap: source.PowercapConfig{Root: nowhere}, SharedRoot: nowhere, HwmonRoot: nowhere}
	if _, err := source.Open(t.Context(), c); !errors.Is(err, source.ErrNoPower) {
		t.Error(err)
	}
	c.Source = source.Auto
	chain, err := source.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chain.ReadTo(nil, start); !errors.Is(err, source.ErrNoPower) || chain.Name() != "none" || chain.Quality() != energy.None {
		t.Error(err, chain.Name())
	}
	c.Source, c.Model = source.NameModel, &source.ModelConfig{Idle: 1, Max: 4, Utilisation: usable}
	if chain, err = source.Open(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	_, _ = chain.ReadTo(nil, start)
	if got, err := chain.ReadTo(nil, after(1)); err != nil || len(got) != 1 || chain.Name() != source.NameModel || chain.Quality() != energy.Modelled {
		t.Error(got, err)
	}
}
