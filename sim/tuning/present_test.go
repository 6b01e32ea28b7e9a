package tuning

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func made(scenario Scenario, tuner Tuner, settled int, requests, throttled float64) row {
	r := result{Settled: settled, Requests: requests, Limits: 2 * requests, Clairvoyant: 1, Throttled: throttled, Latency: .02, P95: .03, P98: .04, P99: .0501, MemoryRequests: 5e8, MemoryLimits: 1e9}
	for range 3 {
		r.Minutes = append(r.Minutes, minuteRow{
			Latency: .02, Throttled: throttled, Requests: requests,
			Services: []moment{{Service: "cart", Request: requests, Throttled: throttled, Memory: 4e7, Faults: 3}, {Service: "ad", Request: .1}},
		})
	}
	return row{Scenario: scenario, Tuner: tuner, Seed: 1, result: r}
}

func TestTable(t *testing.T) {
	runs := Runs{
		made(developers, spazio, 50, 1.25, .01), made(developers, spazio, 51, 1, 0),
		made(developers, seed, 20, 1.26, 0), made(cut, seed, 20, 1, .0101),
	}
	var b strings.Builder
	if err := runs.Table().WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	want := []string{
		"default,spazio,50 / 51,1.12 / 1.25,0.50 / 1.00,20.0 / 20.0,\"30.0, 40.0, 50.1\",1.12,2.25,\"500, 1000\",1 of 2",
		"default,seed,20 / 20,1.26 / 1.26,0.00 / 0.00,20.0 / 20.0,\"30.0, 40.0, 50.1\",1.26,2.52,\"500, 1000\",0 of 1",
		"cut,seed,20 / 20,1.00 / 1.00,1.01 / 1.01,20.0 / 20.0,\"30.0, 40.0, 50.1\",1.00,2.00,\"500, 1000\",0 of 1",
	}
	for i, w := range want {
		if len(lines) != 4 || lines[i+1] != w {
			t.Errorf("row %d of %q, want %q", i, lines, w)
		}
	}
	file := filepath.Join(t.TempDir(), "settling.svg")
	if err := runs.Save(file); err != nil {
		t.Fatal(err)
	}
	drawn, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"limits at first: default", "limits at first: cut", "spazio", "seed"} {
		if !strings.Contains(string(drawn), text) {
			t.Errorf("%q is not drawn", text)
		}
	}
}

// Each service of one tuner's runs is drawn.
func TestServicesAreDrawn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "services.svg")
	runs := Runs{made(developers, spazio, 50, 1.25, .01), made(developers, spazio, 51, 1, 0)}
	if err := runs.Save(file); err != nil {
		t.Fatal(err)
	}
	drawn, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"limits at first: default, tuner: spazio", "periods in which limits hold services up", "memory held", "memory failures", "cart", "ad"} {
		if !strings.Contains(string(drawn), text) {
			t.Errorf("%q is not drawn", text)
		}
	}
}
