package source_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
)

// TestTotalIsCountedOnce: RAPL trees have the watts of each of their zones, and the machine's
// power. Zones of one register show the same value at each reading.
func TestTotalIsCountedOnce(t *testing.T) {
	type register struct{ watts, start float64 }
	one, two := &register{68, 1e9}, &register{41, 3e9}
	third, memory, boot := &register{30, 1e9}, &register{9, 5}, &register{25, 1e9}
	equal := &register{68, 2e9}
	// The counter is near its wrap, in µJ.
	late := &register{68, 262143328850 - 100e6}
	for name, c := range map[string]struct {
		zones map[string]*register // by directory and name
		sum   source.Zones
		want  float64
	}{
		"dies that show their package":   {map[string]*register{"intel-rapl:0 package-0-die-0": one, "intel-rapl:1 package-0-die-1": one}, 0, 68},
		"over a wrap":                    {map[string]*register{"intel-rapl:0 package-0-die-0": late, "intel-rapl:1 package-0-die-1": late}, 0, 68},
		"four dies":                      {map[string]*register{"intel-rapl:0 package-0-die-0": one, "intel-rapl:1 package-0-die-1": one, "intel-rapl:2 package-0-die-2": one, "intel-rapl:3 package-0-die-3": one}, 0, 68},
		"dies of two packages":           {map[string]*register{"intel-rapl:0 package-0-die-0": one, "intel-rapl:1 package-0-die-1": one, "intel-rapl:2 package-1-die-0": two, "intel-rapl:3 package-1-die-1": two}, 0, 109},
		"dies with memory":               {map[string]*register{"intel-rapl:0 package-0-die-0": one, "intel-rapl:0:0 dram": memory, "intel-rapl:1 package-0-die-1": one, "intel-rapl:1:0 dram": memory}, 0, 77},
		"a package of one name twice":    {map[string]*register{"intel-rapl:0 package-0": one, "intel-rapl:1 package-0": one}, 0, 68},
		"dies of their own":              {map[string]*register{"intel-rapl:0 package-0-die-0": one, "intel-rapl:1 package-0-die-1": two}, 0, 109},
		"dies that begin alike":          {map[string]*register{"intel-rapl:0 package-0-die-0": one, "intel-rapl:1 package-0-die-1": third}, 0, 98},
		"dies that take the same":        {map[string]*register{"intel-rapl:0 package-0-die-0": one, "intel-rapl:1 package-0-die-1": equal}, 0, 136},
		"two sockets":                    {map[string]*register{"intel-rapl:0 package-0": one, "intel-rapl:1 package-1": two}, 0, 109},
		"two sockets that show the same": {map[string]*register{"intel-rapl:0 package-0": one, "intel-rapl:1 package-1": one}, 0, 136},
		"parts and the platform":         {map[string]*register{"intel-rapl:0 package-0": one, "intel-rapl:0:0 core": two, "intel-rapl:0:1 uncore": third, "intel-rapl:0:2 dram": memory, "intel-rapl:1 psys": boot}, 0, 77},
		"the platform alone":             {map[string]*register{"intel-rapl:0 psys": one}, 0, 68},
		"the platform of two packages":   {map[string]*register{"intel-rapl:0 package-0": two, "intel-rapl:1 psys": one, "intel-rapl:2 package-1": third, "intel-rapl:3 psys-1": one}, source.Psys, 68},
		"beside its packages":            {map[string]*register{"intel-rapl:0 package-0": two, "intel-rapl:1 psys": one, "intel-rapl:2 package-1": third, "intel-rapl:3 psys-1": one}, 0, 71},
		"its mmio twin":                  {map[string]*register{"intel-rapl:0 package-0": one, "intel-rapl-mmio:0 package-0": two}, 0, 68},
	} {
		t.Run(name, func(t *testing.T) {
			tree := map[string]string{}
			for z := range c.zones {
				var dir, own string
				_, _ = fmt.Sscan(z, &dir, &own)
				zone(tree, dir, own, "0")
			}
			root := filepath.Join(files(t, tree), "class/powercap")
			p, err := source.NewPowercap(source.PowercapConfig{Root: root, Zones: c.sum})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			m, _ := energy.NewMeter(energy.MeterConfig{})
			for second := range 6 {
				for z, r := range c.zones {
					var dir string
					_, _ = fmt.Sscan(z, &dir)
					write(t, filepath.Join(root, dir, "energy_uj"), fmt.Sprintf("%d\n", uint64(r.start+r.watts*float64(second)*1e6)%262143328850))
				}
				readings, err := p.ReadTo(nil, after(float64(second)))
				if err != nil {
					t.Fatal(err)
				}
				in, err := m.Add(readings)
				if second < 2 { // dies that begin alike are known to differ at the second
					continue
				}
				if err != nil || in.Watts < c.want-.01 || in.Watts > c.want+.01 {
					t.Errorf("second %d: %g W, %v; the machine takes %g", second, in.Watts, err, c.want)
				}
			}
		})
	}
}

// TestWidestSensorCounts: an hwmon tree has sensors with declared scopes, and the machine's power
// in watts by them.
func TestWidestSensorCounts(t *testing.T) {
	for name, c := range map[string]struct {
		tree map[string]string
		want float64
	}{
		"the system and its parts": {map[string]string{
			"hwmon0/power1_average": "185200000", "hwmon0/power1_oem_info": "CPU Power\n",
			"hwmon1/power1_average": "450500000", "hwmon1/power1_oem_info": "System Power\n",
			"hwmon2/power1_average": "32000000", "hwmon2/power1_oem_info": "Memory\n",
		}, 450.5},
		"a meter without a word, and a part": {map[string]string{
			"hwmon0/power1_average": "185200000", "hwmon0/power1_oem_info": "CPU\n", "hwmon1/power1_average": "450500000",
		}, 450.5},
		"two meters of the machine": {map[string]string{"hwmon0/power1_average": "450500000", "hwmon1/power1_average": "451000000"}, 450.5},
		"two supplies":              {map[string]string{"hwmon0/power1_average": "230000000", "hwmon0/power1_oem_info": "PSU1", "hwmon1/power1_average": "220500000", "hwmon1/power1_oem_info": "PSU2"}, 450.5},
		"before and behind a supply": {map[string]string{
			"hwmon0/power1_average": "450500000", "hwmon0/power1_oem_info": "Power Supply 1 Input",
			"hwmon1/power1_average": "412000000", "hwmon1/power1_oem_info": "Power Supply 1 Output",
		}, 450.5},
		"a total and its supplies": {map[string]string{
			"hwmon0/power1_average": "230000000", "hwmon0/power1_oem_info": "PSU1", "hwmon1/power1_average": "220500000", "hwmon1/power1_oem_info": "PSU2",
			"hwmon2/power1_average": "450500000", "hwmon2/power1_oem_info": "Total Power Supply Input",
		}, 450.5},
		"a meter that knows none, and another": {map[string]string{"hwmon0/power1_average": "4294967295000", "hwmon1/power1_average": "450500000"}, 450.5},
		"a meter that is silent, and another":  {map[string]string{"hwmon0/power1_average": "", "hwmon1/power1_average": "450500000"}, 450.5},
		"supplies by other names": {map[string]string{
			"hwmon0/power1_average": "230000000", "hwmon0/power1_oem_info": "PS1 Input Power", "hwmon1/power1_average": "220500000", "hwmon1/power1_oem_info": "PowerSupply2",
		}, 450.5},
		"the rest of a part": {map[string]string{
			"hwmon0/name": "ibmpowernv", "hwmon0/power1_input": "185200000", "hwmon0/power1_label": "Chip 0 ", "hwmon0/power2_input": "32000000", "hwmon0/power2_label": "IO",
		}, 217.2},
		"a battery":                    {map[string]string{"hwmon0/power1_average": "70000000", "hwmon0/power1_is_battery": "1", "hwmon1/power1_average": "450500000"}, 450.5},
		"parts alone":                  {map[string]string{"hwmon0/power1_average": "185200000", "hwmon0/power1_oem_info": "CPU", "hwmon1/power1_average": "32000000", "hwmon1/power1_oem_info": "Memory"}, 217.2},
		"at a device that has no name": {map[string]string{"hwmon0/name": "power_meter", "hwmon0/device/power1_average": "450500000", "hwmon0/device/power1_oem_info": "System", "hwmon0/device/power1_is_battery": "0"}, 450.5},
		"a battery at a device":        {map[string]string{"hwmon0/name": "power_meter", "hwmon0/device/power1_average": "70000000", "hwmon0/device/power1_is_battery": "1", "hwmon1/power1_average": "450500000"}, 450.5},
		"at a device":                  {map[string]string{"hwmon0/device/name": "power_meter", "hwmon0/device/power1_average": "450500000"}, 450.5},
		"OPAL": {map[string]string{
			"hwmon0/name": "ibmpowernv", "hwmon0/power1_input": "450500000", "hwmon0/power1_label": "System",
			"hwmon0/power2_input": "120000000", "hwmon0/power2_label": "Chip 0", "hwmon0/power3_input": "60000000", "hwmon0/power3_label": "Chip 0 Vdd",
			"hwmon0/power4_input": "40000000", "hwmon0/power4_label": "Fan", "hwmon0/energy1_input": "77", "hwmon0/energy1_label": "Chip 0",
		}, 450.5},
	} {
		t.Run(name, func(t *testing.T) {
			tree := map[string]string{"hwmon0/name": "power_meter"}
			for path, text := range c.tree {
				if chip := path[:len("hwmon0")]; tree[chip+"/name"] == "" {
					tree[chip+"/name"] = "power_meter"
				}
				tree[path] = text
			}
			if c.tree["hwmon0/device/name"] != "" {
				delete(tree, "hwmon0/name")
			}
			h, err := source.NewHwmon(files(t, tree))
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			readings, err := h.ReadTo(nil, start)
			sum := 0.0
			for _, r := range readings {
				if !r.Gauge {
					t.Errorf("%s is summed, which is a part", r.Zone)
				}
				sum += r.Watts
			}
			if err != nil || sum < c.want-.01 || sum > c.want+.01 {
				t.Errorf("%g W of %v, %v; the machine takes %g", sum, readings, err, c.want)
			}
		})
	}
}

// TestSensorThatCannotBeOpened: a sum without a supply or a socket is not the machine's, and the
// error names the missing one; a meter of the whole lacks nothing.
func TestSensorThatCannotBeOpened(t *testing.T) {
	for name, c := range map[string]struct {
		tree    map[string]string
		absent  string
		missing bool
	}{
		"a supply":    {map[string]string{"hwmon0/name": "power_meter", "hwmon0/power1_average": "230000000", "hwmon0/power1_oem_info": "PSU1", "hwmon1/name": "power_meter"}, "hwmon1/power1_average", true},
		"a socket":    {map[string]string{"hwmon0/name": "fam15h_power", "hwmon0/power1_input": "230000000", "hwmon1/name": "fam15h_power"}, "hwmon1/power1_input", true},
		"a processor": {map[string]string{"hwmon0/name": "power_meter", "hwmon0/power1_average": "230000000", "hwmon1/name": "fam15h_power"}, "hwmon1/power1_input", false},
		"a part":      {map[string]string{"hwmon0/name": "power_meter", "hwmon0/power1_average": "230000000", "hwmon1/name": "power_meter"}, "hwmon1/power1_average", false},
		"a supply of a chip": {map[string]string{"hwmon0/name": "power_meter", "hwmon0/power1_average": "230000000", "hwmon0/power1_oem_info": "PSU1", "hwmon0/power2_oem_info": "PSU2"},
			"hwmon0/power2_average", true},
		"a part of a chip": {map[string]string{"hwmon0/name": "power_meter", "hwmon0/power1_average": "230000000", "hwmon0/power1_oem_info": "System", "hwmon0/power2_oem_info": "CPU"},
			"hwmon0/power2_average", false},
		"a socket of a chip": {map[string]string{"hwmon0/name": "fam15h_power", "hwmon0/power1_input": "230000000", "hwmon0/power1_label": "socket 0", "hwmon0/power2_label": "socket 1"},
			"hwmon0/power2_input", true},
	} {
		root := files(t, c.tree)
		if err := os.Symlink("nowhere", filepath.Join(root, c.absent)); err != nil {
			t.Fatal(err)
		}
		h, err := source.NewHwmon(root)
		if err != nil {
			t.Fatal(name, err)
		}
		readings, err := h.ReadTo(nil, start)
		if len(readings) != 1 || readings[0].Watts != 230 || (err != nil) != c.missing || c.missing && !strings.Contains(err.Error(), c.absent) {
			t.Errorf("%s: %v, %v", name, readings, err)
		}
		_ = h.Close()
	}
}

// TestWholeThatCannotBeOpened: the chip's other sensors are parts, and not the machine's power.
func TestWholeThatCannotBeOpened(t *testing.T) {
	root := files(t, map[string]string{
		"hwmon0/name": "power_meter", "hwmon0/power1_oem_info": "System Power", "hwmon0/power2_average": "185200000", "hwmon0/power2_oem_info": "CPU",
	})
	if err := os.Symlink("nowhere", filepath.Join(root, "hwmon0/power1_average")); err != nil {
		t.Fatal(err)
	}
	if _, err := source.NewHwmon(root); !errors.Is(err, source.ErrNoPower) || !strings.Contains(err.Error(), "hwmon0/power1_average") {
		t.Errorf("%v", err)
	}
}

// TestSensorsWithoutLabels: several sensors of a chip without declared scopes may contain one
// another. They are not summed, the error names them, and another chip is read.
func TestSensorsWithoutLabels(t *testing.T) {
	acpi := map[string]string{"hwmon1/name": "power_meter", "hwmon1/power1_average": "450500000"}
	for name, c := range map[string]struct {
		tree   map[string]string
		unread []string // what the error names
	}{
		"inputs": {map[string]string{"hwmon0/name": "power_meter", "hwmon0/power1_average": "450500000", "hwmon0/power2_average": "265300000", "hwmon0/power3_average": "185200000"},
			[]string{"hwmon0/power1_average", "hwmon0/power2_average", "hwmon0/power3_average"}},
		"numbered ones": {map[string]string{
			"hwmon0/name": "ibmpowernv", "hwmon0/power1_input": "450500000", "hwmon0/power1_label": "Power 1", "hwmon0/power2_input": "265300000", "hwmon0/power2_label": "Power 2",
		}, []string{"hwmon0/power1_input", "hwmon0/power2_input"}},
		"cores and sockets": {map[string]string{"hwmon0/name": "amd_energy", "hwmon0/energy1_input": "11", "hwmon0/energy2_input": "22", "hwmon0/energy3_input": "33"},
			[]string{"hwmon0/energy1_input", "hwmon0/energy2_input", "hwmon0/energy3_input"}},
		"a socket beside cores": {map[string]string{
			"hwmon0/name": "amd_energy", "hwmon0/energy1_input": "11", "hwmon0/energy1_label": "Ecore000", "hwmon0/energy2_input": "22",
		}, []string{"hwmon0/energy2_input"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := source.NewHwmon(files(t, c.tree))
			if !errors.Is(err, source.ErrNoPower) {
				t.Fatalf("%v, want ErrNoPower", err)
			}
			for _, file := range c.unread {
				if !strings.Contains(err.Error(), file) {
					t.Errorf("%v does not name %s", err, file)
				}
			}
			for path, text := range acpi {
				c.tree[path] = text
			}
			h, err := source.NewHwmon(files(t, c.tree))
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			if readings, err := h.ReadTo(nil, start); err != nil || len(readings) != 1 || readings[0].Watts != 450.5 {
				t.Errorf("beside a meter of the machine: %v, %v", readings, err)
			}
		})
	}
}

// TestWidestContextCounts: controllers report these values, and the machine takes this power.
func TestWidestContextCounts(t *testing.T) {
	for name, c := range map[string]struct {
		entries string
		want    float64 // 0: no power
	}{
		"a server and its parts": {`{"Name":"Server Power Control","PowerConsumedWatts":450.5,"PhysicalContext":"Chassis"},
			{"Name":"CPU Sub-system Power","PowerConsumedWatts":185.2,"PhysicalContext":"CPU"},{"Name":"Memory","PowerConsumedWatts":32,"PhysicalContext":"Memory"}`, 450.5},
		"parts first":                {`{"PowerConsumedWatts":32,"PhysicalContext":"Memory"},{"PowerConsumedWatts":450.5,"PhysicalContext":"Chassis"}`, 450.5},
		"by their names":             {`{"Name":"Server Power Control","PowerConsumedWatts":450.5},{"Name":"CPU Sub-system Power","PowerConsumedWatts":185.2},{"Name":"Memory Sub-system Power","PowerConsumedWatts":32}`, 450.5},
		"without a word":             {`{"PowerConsumedWatts":450.5},{"PowerConsumedWatts":32}`, 450.5},
		"a board and its parts":      {`{"PowerConsumedWatts":300,"PhysicalContext":"SystemBoard"},{"PowerConsumedWatts":185.2,"PhysicalContext":"CPU"},{"PowerConsumedWatts":90,"PhysicalContext":"GPU"}`, 300},
		"supplies and parts":         {`{"PowerConsumedWatts":230,"PhysicalContext":"PowerSupply"},{"PowerConsumedWatts":220.5,"PhysicalContext":"PowerSupply"},{"PowerConsumedWatts":185.2,"PhysicalContext":"CPU"}`, 450.5},
		"processors alone":           {`{"PowerConsumedWatts":100,"PhysicalContext":"CPU"},{"PowerConsumedWatts":85.5,"PhysicalContext":"CPU"}`, 185.5},
		"the same total twice":       {`{"PowerConsumedWatts":450.5,"PhysicalContext":"Chassis"},{"PowerConsumedWatts":450.5,"PhysicalContext":"Chassis"}`, 450.5},
		"a part that is no power":    {`{"PowerConsumedWatts":450.5,"PhysicalContext":"Chassis"},{"PowerConsumedWatts":-32,"PhysicalContext":"Memory"}`, 450.5},
		"a part that is a text":      {`{"PowerConsumedWatts":450.5,"PhysicalContext":"Chassis"},{"PowerConsumedWatts":"32","PhysicalContext":"Memory"}`, 450.5},
		"an unknown whole":           {`{"PowerConsumedWatts":null,"PhysicalContext":"Chassis"},{"PowerConsumedWatts":185.2,"PhysicalContext":"CPU"}`, 0},
		"none":                       {``, 0},
		"a number as a text":         {`{"Name":"System Power Control","PowerConsumedWatts":"450.5","PhysicalContext":"Chassis"}`, 450.5},
		"a text that is no power":    {`{"Name":"System Power Control","PowerConsumedWatts":"N/A"}`, 0},
		"a word for unknown":         {`{"PowerConsumedWatts":4294967295,"PhysicalContext":"Chassis"}`, 0},
		"all supplies and each":      {`{"PowerConsumedWatts":230,"PhysicalContext":"PowerSupply"},{"PowerConsumedWatts":220.5,"PhysicalContext":"PowerSupply"},{"PowerConsumedWatts":450.5,"PhysicalContext":"PowerSubsystem"}`, 450.5},
		"all processors and each":    {`{"PowerConsumedWatts":185.5,"PhysicalContext":"CPUSubsystem"},{"PowerConsumedWatts":100,"PhysicalContext":"CPU"},{"PowerConsumedWatts":85.5,"PhysicalContext":"CPU"}`, 185.5},
		"each of an unknown all":     {`{"PowerConsumedWatts":null,"PhysicalContext":"CPUSubsystem"},{"PowerConsumedWatts":100,"PhysicalContext":"CPU"},{"PowerConsumedWatts":85.5,"PhysicalContext":"CPU"}`, 185.5},
		"before and behind supplies": {`{"Name":"Power Supply 1 Input","PowerConsumedWatts":230},{"Name":"Power Supply 1 Output","PowerConsumedWatts":210},{"Name":"Power Supply 2 Input","PowerConsumedWatts":220.5},{"Name":"Power Supply 2 Output","PowerConsumedWatts":201}`, 450.5},
		"an unknown whole twice":     {`{"PowerConsumedWatts":65535,"PhysicalContext":"Chassis"},{"PowerConsumedWatts":450.5,"PhysicalContext":"Chassis"}`, 450.5},
		"its input and its board":    {`{"PowerConsumedWatts":400,"PhysicalContext":"SystemBoard"},{"PowerConsumedWatts":450.5,"PhysicalContext":"ACInput"}`, 450.5},
		"supplies by their names":    {`{"Name":"PowerSupply1 Input","PowerConsumedWatts":230},{"Name":"PS2_Input_Power","PowerConsumedWatts":220.5}`, 450.5},
		"Dell":                       {`{"@odata.id":"/redfish/v1/Chassis/System.Embedded.1/Power/PowerControl","MemberId":"PowerControl","Name":"System Power Control","PowerAllocatedWatts":1600,"PowerConsumedWatts":450.5,"PowerMetrics":{"AverageConsumedWatts":430,"IntervalInMin":60,"MaxConsumedWatts":600},"RelatedItem":[]}`, 450.5},
		"Lenovo":                     {`{"Name":"Server Power Control","PowerConsumedWatts":450.5,"PhysicalContext":"Chassis"},{"Name":"CPU Sub-system Power","PowerConsumedWatts":185,"PhysicalContext":"CPU"},{"Name":"Memory Sub-system Power","PowerConsumedWatts":null,"PhysicalContext":"Memory"},{"Name":"GPU Sub-system Power","PowerConsumedWatts":0}`, 450.5},
		"OpenBMC":                    {`{"@odata.type":"#Power.v1_0_0.PowerControl","MemberId":"0","Name":"Chassis Power Control","PowerConsumedWatts":450.5,"PowerLimit":{"LimitInWatts":null}},{"MemberId":"1","Name":"total power","PowerConsumedWatts":450}`, 450.5},
		"a supply of unknown power":  {`{"Name":"PSU1","PowerConsumedWatts":230,"PhysicalContext":"PowerSupply"},{"Name":"PSU2","PowerConsumedWatts":null,"PhysicalContext":"PowerSupply"}`, 0},
		"a supply without a power":   {`{"Name":"PSU1","PowerConsumedWatts":230},{"Name":"PSU2"}`, 0},
		"an absent supply":           {`{"Name":"PSU1","PowerConsumedWatts":450.5},{"Name":"PSU2","PowerConsumedWatts":null,"Status":{"State":"Absent"}}`, 450.5},
		"an unknown processor":       {`{"PowerConsumedWatts":null,"PhysicalContext":"CPU"},{"PowerConsumedWatts":85.5,"PhysicalContext":"CPU"}`, 0},
		"an unknown supply, a whole": {`{"PowerConsumedWatts":null,"PhysicalContext":"PowerSupply"},{"PowerConsumedWatts":450.5,"PhysicalContext":"Chassis"}`, 450.5},
		"a switched off part":        {`{"Name":"System Power Control","PowerConsumedWatts":450.5,"Status":{"State":"Enabled"}},{"Name":"System Power Control","PowerConsumedWatts":0,"Status":{"State":"Absent"}}`, 450.5},
	} {
		watts, err := source.ParseRedfish([]byte(`{"PowerControl":[` + c.entries + `]}`))
		if watts != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%s: %g W, %v; want %g", name, watts, err, c.want)
		}
	}
}
