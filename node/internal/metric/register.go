// Package metric registers what several parts of a process count together.
package metric

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Register adds a collector to r and returns the one to use: c itself, or its
// equal that r already holds, so that several parts of one process can count
// into the same series. A nil r registers nowhere. It fails where r holds
// another collector under the same name.
func Register[C prometheus.Collector](r prometheus.Registerer, c C) (C, error) {
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
