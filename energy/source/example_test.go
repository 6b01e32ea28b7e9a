package source_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
)

// An energy.Meter turns two readings of a processor package's counter, a second apart, into power.
func ExamplePowercap() {
	root, err := os.MkdirTemp("", "powercap")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(root) }()
	zone := filepath.Join(root, "intel-rapl:0")
	counter := func(microjoules string) {
		for name, text := range map[string]string{"name": "package-0", "max_energy_range_uj": "262143328850", "energy_uj": microjoules} {
			_ = os.MkdirAll(zone, 0o755)
			_ = os.WriteFile(filepath.Join(zone, name), []byte(text+"\n"), 0o600)
		}
	}
	counter("5000000")
	counters, err := source.NewPowercap(source.PowercapConfig{Root: root})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = counters.Close() }()
	meter, err := energy.NewMeter(energy.MeterConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	readings, err := counters.ReadTo(nil, at)
	_, priming := meter.Add(readings)
	fmt.Println(counters.Name(), counters.Quality(), err, priming)
	counter("48000000")
	readings, err = counters.ReadTo(readings[:0], at.Add(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	interval, err := meter.Add(readings)
	fmt.Printf("%.0f J, %.0f W, %v\n", interval.Joules, interval.Watts, err)
	// Output:
	// powercap measured <nil> no reading before
	// 43 J, 43 W, <nil>
}

// A machine without counters is at half its load: power comes from its nameplate. A source that
// reads twice in a row is used, and an interval needs two readings of it.
func ExampleOpen() {
	chain, err := source.Open(context.Background(), source.Config{
		Source: source.NameModel,
		Model:  &source.ModelConfig{Idle: 50, Max: 150, Utilisation: func() (float64, error) { return .5, nil }},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = chain.Close() }()
	meter, err := energy.NewMeter(energy.MeterConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	var readings []energy.Reading
	for range 3 {
		readings, err = chain.ReadTo(readings, at)
		if err != nil {
			fmt.Println(err)
		} else if interval, err := meter.Add(readings); err != nil {
			fmt.Println(err)
		} else {
			fmt.Printf("%s, %s: %.0f J, %.0f W\n", chain.Name(), chain.Quality(), interval.Joules, interval.Watts)
		}
		at = at.Add(10 * time.Second)
	}
	// Output:
	// no newer reading
	// no reading before
	// model, modelled: 1000 J, 100 W
}
