package autoscale

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/scheduler/service/autoscale/plan"
	"github.com/spazio-scheduler/spazio/field"
)

// Config configures a Controller. It is a plain value.
type Config struct {
	// Namespace is where buffers and templates are; required.
	Namespace string
	// Owner is the Deployment there that owns them, so that they go with it; empty for none.
	Owner string
	plan.Config
}

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
	return c, c.Validate()
}

// Validate returns a *field.Error for a value that is out of range.
func (c Config) Validate() error {
	if c.Namespace == "" {
		return refuse("namespace", c.Namespace, errRequired)
	}
	return c.Config.Validate()
}

func refuse(name string, value any, err error) error {
	return &field.Error{Package: "autoscale", Field: name, Value: value, Err: fmt.Errorf("%w: %w", plan.ErrInvalid, err)}
}

// maxPeriod is the time between two passes. It is shorter where the delays are.
const maxPeriod = 5 * time.Second

// period returns the time between two passes.
func (c Config) period() time.Duration {
	return max(min(maxPeriod, c.WithDefaults().ScaleUpDelay/6, c.WithDefaults().ScaleDownDelay/12), 200*time.Millisecond)
}
