package autoscale

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// Config configures a Controller. It is a plain value.
type Config struct {
	// Namespace is where buffers and templates are; required.
	Namespace string
	// Owner is the Deployment there that owns them, so that they go with it; empty for none.
	Owner string
	// ScaleUpDelay is how long a workload's pods wait before a buffer asks for nodes, and how long a
	// node refuses pods before it is labelled as full. Zero means 30 seconds.
	ScaleUpDelay time.Duration
	// ScaleDownDelay is how long a buffer keeps its size after fewer pods wait. A node keeps its
	// label and its protection for half of it. Zero means 2 minutes.
	ScaleDownDelay time.Duration
	// MaxReplicas bounds the pods that one buffer asks for. Zero means 100.
	MaxReplicas int
	// ProtectAbove is the share of a node's CPU or memory in use above which it is busy. Zero means
	// half.
	ProtectAbove float64
}

// ErrInvalid is what the errors of New and Parse wrap.
var ErrInvalid = errors.New("invalid configuration")

// settings are the keys that Parse takes.
var settings = map[string]func(c *Config, value string) error{
	"namespace":      func(c *Config, v string) error { c.Namespace = v; return nil },
	"owner":          func(c *Config, v string) error { c.Owner = v; return nil },
	"scaleUpDelay":   func(c *Config, v string) (err error) { c.ScaleUpDelay, err = time.ParseDuration(v); return err },
	"scaleDownDelay": func(c *Config, v string) (err error) { c.ScaleDownDelay, err = time.ParseDuration(v); return err },
	"maxReplicas":    func(c *Config, v string) (err error) { c.MaxReplicas, err = strconv.Atoi(v); return err },
	"protectAbove": func(c *Config, v string) (err error) {
		c.ProtectAbove, err = strconv.ParseFloat(v, 64)
		return err
	},
}

var (
	errNoSetting = errors.New("must be one of " + strings.Join(slices.Sorted(maps.Keys(settings)), ", "))
	errRequired  = errors.New("must be set")
)

// Parse reads a Config from keys that are named as the fields are, such as scaleUpDelay. Its
// errors are of type *field.Error.
func Parse(given map[string]string) (c Config, err error) {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		set, known := settings[key]
		if !known {
			return c, refuse("key", key, errNoSetting)
		}
		if err := set(&c, given[key]); err != nil {
			return c, refuse(key, given[key], err)
		}
	}
	return c, c.validate()
}

// validate returns a *field.Error for a value that is out of range.
func (c Config) validate() error {
	if c.Namespace == "" {
		return refuse("namespace", c.Namespace, errRequired)
	}
	for _, f := range []struct {
		name  string
		value any
		isOK  bool
		why   string
	}{
		{"scaleUpDelay", c.ScaleUpDelay, c.ScaleUpDelay >= 0, "must not be negative"},
		{"scaleDownDelay", c.ScaleDownDelay, c.ScaleDownDelay >= 0, "must not be negative"},
		{"maxReplicas", c.MaxReplicas, c.MaxReplicas >= 0, "must not be negative"},
		{"protectAbove", c.ProtectAbove, c.ProtectAbove >= 0 && c.ProtectAbove <= 1, "must be from 0 to 1"},
	} {
		if !f.isOK {
			return refuse(f.name, f.value, errors.New(f.why))
		}
	}
	return nil
}

// withDefaults returns c with its zero fields set.
func (c Config) withDefaults() Config {
	c.ScaleUpDelay, c.ScaleDownDelay = cmp.Or(c.ScaleUpDelay, 30*time.Second), cmp.Or(c.ScaleDownDelay, 2*time.Minute)
	c.MaxReplicas, c.ProtectAbove = cmp.Or(c.MaxReplicas, 100), cmp.Or(c.ProtectAbove, 0.5)
	return c
}

func refuse(name string, value any, err error) error {
	return &field.Error{Package: "autoscale", Field: name, Value: value, Err: fmt.Errorf("%w: %w", ErrInvalid, err)}
}

// maxPeriod is the time between two passes. It is shorter where the delays are.
const maxPeriod = 5 * time.Second

// period returns the time between two passes.
func (c Config) period() time.Duration {
	return max(min(maxPeriod, c.withDefaults().ScaleUpDelay/6, c.withDefaults().ScaleDownDelay/12), 200*time.Millisecond)
}
