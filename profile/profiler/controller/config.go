package controller

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// Config of a Controller. Store and REST are needed; the zero value of another field is its
// default.
type Config struct {
	Store *profiler.Store
	// REST leads to the API server.
	REST *rest.Config
	// Heard has a token when there may be something to write; nil is a look every
	// tenth of a second.
	Heard <-chan struct{}
	// LeaseNamespace is where the lease is, which says who writes; empty is the
	// pod's own namespace.
	LeaseNamespace string
	// WriteRate bounds the writes a second, default 10. Four seconds' worth may come
	// at once.
	WriteRate float64
	// LeaseDuration is after what time a leader that is silent is replaced, default
	// 15 s.
	LeaseDuration time.Duration
	// History, if set, is asked about workloads that nothing is known of.
	History History
	// Fares, if set, is asked before each step of the Store's continuous profiler who
	// called whom, and for the Store's Metrics unless they are the agents'.
	Fares Fares
	// VPAName, if set, is by what name objects of the Vertical Pod Autoscaler ask for our
	// recommendations.
	VPAName string
	// Resize changes the requests of running pods that have the label resize.Label, but
	// not of a resource by whose utilisation their number is set.
	Resize bool
	// ExportLiqo writes the custom resources of package liqo, too.
	ExportLiqo bool
	// Registerer gets the metrics; nil registers none.
	Registerer prometheus.Registerer
	// Logger gets what is missing or fails; nil logs nothing.
	Logger *slog.Logger
}

// Validate returns a *field.Error.
func (c Config) Validate() error {
	refuse := func(name string, value any) error {
		return &field.Error{Package: "profiler", Field: name, Value: value, Err: profiler.ErrInvalid}
	}
	switch {
	case c.Store == nil:
		return refuse("Store", nil)
	case c.REST == nil:
		return refuse("REST", nil)
	case !(c.WriteRate >= 0) || c.WriteRate > 1e6:
		return refuse("WriteRate", c.WriteRate)
	case c.LeaseDuration < 0 || c.LeaseDuration > 0 && c.LeaseDuration < time.Second:
		return refuse("LeaseDuration", c.LeaseDuration)
	}
	return nil
}

// features are those that are on.
func (c Config) features() (all []Feature) {
	for feature, on := range map[Feature]bool{ForVPA: c.VPAName != "", ForResize: c.Resize, ForExport: c.ExportLiqo} {
		if on {
			all = append(all, feature)
		}
	}
	slices.Sort(all)
	return all
}

func (c Config) withDefaults() Config {
	c.WriteRate = cmp.Or(c.WriteRate, 10)
	c.LeaseDuration = cmp.Or(c.LeaseDuration, 15*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
