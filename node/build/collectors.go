package build

import (
	"errors"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Info returns a gauge that is 1 and names by its labels which program of Spazio
// this is, of which Version, and by which Go it was built.
func Info(program string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "spazio_build_info", Help: "1 for the program, its version and that of Go.",
		ConstLabels: prometheus.Labels{"program": program, "version": Version(), "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}

// Register adds what each program shows of itself: Info, Go's runtime and the
// process.
func Register(r prometheus.Registerer, program string) error {
	return errors.Join(
		r.Register(Info(program)),
		r.Register(collectors.NewGoCollector()),
		r.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	)
}

// Informed is a gatherer that has Info besides, for a program that runs in the process of
// another one.
func Informed(program string, g prometheus.Gatherer) prometheus.Gatherer {
	own := prometheus.NewRegistry()
	own.MustRegister(Info(program))
	return prometheus.Gatherers{g, own}
}

// Shared adds a collector to r and returns the one to use: c itself, or its
// equal that r already holds, so that several parts of one process can count
// into the same series. A nil r registers nowhere. It fails where r holds
// another collector under the same name.
func Shared[C prometheus.Collector](r prometheus.Registerer, c C) (C, error) {
	if r == nil {
		return c, nil
	}
	err := r.Register(c)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	return c, err
}
