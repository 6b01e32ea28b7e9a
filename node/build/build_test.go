package build_test

import (
	"runtime"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/spazio-scheduler/spazio/node/build"
)

// A program exports its version beside the metrics of every Go program; registering twice is an error.
func TestRegister(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	if err := build.Register(registry, "spazio-agent"); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]string{}
	for _, f := range families {
		found[f.GetName()] = map[string]string{}
		for _, pair := range f.GetMetric()[0].GetLabel() {
			found[f.GetName()][pair.GetName()] = pair.GetValue()
		}
	}
	if info := found["spazio_build_info"]; info["program"] != "spazio-agent" || info["version"] == "" || info["goversion"] != runtime.Version() {
		t.Errorf("got build info %v", info)
	}
	for _, name := range []string{"go_goroutines", "process_cpu_seconds_total"} {
		if found[name] == nil && runtime.GOOS == "linux" {
			t.Errorf("no %s", name)
		}
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	if build.Register(registry, "spazio-agent") == nil {
		t.Error("a second registration succeeded")
	}
}

// Parts of a process count into one series.
func TestShared(t *testing.T) {
	registry := prometheus.NewRegistry()
	make := func() prometheus.Counter { return prometheus.NewCounter(prometheus.CounterOpts{Name: "n_total"}) }
	first, err := build.Shared(registry, make())
	if err != nil {
		t.Fatal(err)
	}
	if second, err := build.Shared(registry, make()); err != nil || second != first {
		t.Errorf("the second registration: %v, %v", second, err)
	}
	if _, err := build.Shared[prometheus.Counter](nil, make()); err != nil {
		t.Error(err)
	}
	other := prometheus.NewCounter(prometheus.CounterOpts{Name: "n_total", Help: "of something else"})
	if _, err := build.Shared(registry, other); err == nil {
		t.Error("a second collector registered under the same name")
	}
}
