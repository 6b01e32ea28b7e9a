package source_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
)

// meters are sources of each kind, with functions that make them show a power at a second.
func meters(t *testing.T) map[string]func(watts, second float64) ([]energy.Reading, error) {
	t.Helper()
	rapl := func(zoneName string, sum source.Zones) func(watts, second float64) ([]energy.Reading, error) {
		root := filepath.Join(files(t, zone(map[string]string{}, "intel-rapl:0", zoneName, "0")), "class/powercap")
		p, err := source.NewPowercap(source.PowercapConfig{Root: root, Zones: sum})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		return func(watts, second float64) ([]energy.Reading, error) {
			write(t, filepath.Join(root, "intel-rapl:0/energy_uj"), fmt.Sprintf("%.0f\n", watts*second*1e6))
			return p.ReadTo(nil, after(second))
		}
	}
	chip := func(name, file string) func(watts, second float64) ([]energy.Reading, error) {
		root := files(t, map[string]string{"hwmon0/name": name, "hwmon0/" + file: "1\n"})
		h, err := source.NewHwmon(root)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Close() })
		return func(watts, second float64) ([]energy.Reading, error) {
			write(t, filepath.Join(root, "hwmon0", file), fmt.Sprintf("%.0f\n", watts*1e6))
			return h.ReadTo(nil, after(second))
		}
	}
	guest := files(t, zone(map[string]string{}, "intel-rapl:0", "package-0", "0"))
	var watts float64
	model, err := source.NewModel(source.ModelConfig{Max: 1e5, Utilisation: func() (float64, error) { return watts / 1e5, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func(watts, second float64) ([]energy.Reading, error){
		"a package":       rapl("package-0", source.PackageDRAM),
		"psys":            rapl("psys", source.Psys),
		"psys of several": rapl("psys-1", source.Psys),
		"an ACPI meter":   chip("power_meter", "power1_average"),
		"OPAL":            chip("ibmpowernv", "power1_input"),
		"a processor":     chip("fam15h_power", "power1_input"),
		"a host's share": func(watts, second float64) ([]energy.Reading, error) {
			publish(t, guest, "intel-rapl:0", fmt.Sprintf("%.0f", watts*second*1e6), after(second))
			s, err := source.NewShared(guest)
			if err != nil {
				return nil, err
			}
			_, _ = s.ReadTo(nil, after(second)) // the first look
			publish(t, guest, "intel-rapl:0", fmt.Sprintf("%.0f", watts*(second+.1)*1e6), after(second+.1))
			return s.ReadTo(nil, after(second+.2))
		},
		"a model": func(w, second float64) ([]energy.Reading, error) {
			watts = w
			return model.ReadTo(nil, after(second))
		},
		"a controller": func(watts, second float64) ([]energy.Reading, error) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"PowerControl":[{"PowerConsumedWatts":%g}]}`, watts)
			}))
			defer server.Close()
			r, err := source.NewRedfish(t.Context(), source.RedfishConfig{URL: server.URL, TLS: trust(server)})
			if err != nil {
				return nil, err
			}
			defer r.Close()
			readings := answered(t, r)
			readings[0].At = after(second)
			return readings, nil
		},
	}
}

// TestMostPower: 1,430 W is an ordinary power of a machine, but too much for a processor; a refusal
// has both numbers. A machine's own bound is 65,535 W, which a controller shows that knows none.
func TestMostPower(t *testing.T) {
	part := []string{"a package", "a processor"}
	for name, read := range meters(t) {
		for watts, refused := range map[float64]bool{850: false, 1430: name == part[0] || name == part[1], 9900: name == part[0] || name == part[1], 65535: name != "a model"} {
			t.Run(fmt.Sprint(name, " at ", watts, " W"), func(t *testing.T) {
				m, err := energy.NewMeter(energy.MeterConfig{})
				if err != nil {
					t.Fatal(err)
				}
				var in energy.Interval
				for second := range 3 {
					readings, err := read(watts, float64(second+1))
					if err != nil {
						t.Fatal(err)
					}
					in, err = m.Add(readings)
					if second == 2 {
						checkPower(t, in, err, watts, refused)
					}
				}
			})
		}
	}
}

func checkPower(t *testing.T, in energy.Interval, err error, watts float64, refused bool) {
	t.Helper()
	switch {
	case !refused && (err != nil || in.Partial || in.Watts < watts*.999 || in.Watts > watts*1.001):
		t.Errorf("%+v, %v", in, err)
	case refused && !errors.Is(err, energy.ErrImplausible):
		t.Errorf("not refused: %+v, %v", in, err)
	case refused && !(strings.Contains(err.Error(), fmt.Sprintf("%.0f W", watts)) &&
		(strings.Contains(err.Error(), "1000 W") || strings.Contains(err.Error(), "50000 W"))):
		t.Error("without the value and the bound:", err)
	}
}
