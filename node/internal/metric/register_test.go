package metric_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/node/internal/metric"
)

func TestRegister(t *testing.T) {
	registry := prometheus.NewRegistry()
	make := func() prometheus.Counter { return prometheus.NewCounter(prometheus.CounterOpts{Name: "n_total"}) }
	first, err := metric.Register(registry, make())
	if err != nil {
		t.Fatal(err)
	}
	if second, err := metric.Register(registry, make()); err != nil || second != first {
		t.Errorf("the second registration: %v, %v", second, err)
	}
	if _, err := metric.Register[prometheus.Counter](nil, make()); err != nil {
		t.Error(err)
	}
	other := prometheus.NewCounter(prometheus.CounterOpts{Name: "n_total", Help: "of something else"})
	if _, err := metric.Register(registry, other); err == nil {
		t.Error("another collector took the name")
	}
}
