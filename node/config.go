package node

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// Meter measures a machine; *telemetry.Reader is one. Its methods are called
// from one goroutine at a time: that of New, then that of Run.
type Meter interface {
	// Schema names the channels and how they are measured. It does not change.
	Schema() telemetry.Schema
	// SizesTo stores the size of each channel as of the last sample, in the order
	// of the schema, in dst, grown as append does, and returns it: cores for the
	// CPU, bytes for memory.
	SizesTo(dst []float64) []float64
	// Pressure is false if the schema wants pressure that the kernel does not have.
	Pressure() bool
	// SampleTo stores the usage of each channel in [0,1] for the time at in dst,
	// grown as append does, and returns it. An error drops the sample;
	// telemetry.ErrPriming is the first sample's.
	SampleTo(dst []float64, at time.Time) ([]float64, error)
}

// UsageMeter reads what the pods of a machine take; *telemetry.PodUsage is one. Its
// methods are called one at a time, from the goroutine of Run.
type UsageMeter interface {
	// Observe takes all pods, sorted by UID, when they change.
	Observe(at time.Time, pods []telemetry.Pod)
	// ReadTo reads into dst the pods that are due.
	ReadTo(dst *telemetry.Usage, at time.Time) error
}

// Clock is the time that a node lives in; it must be steady and safe for
// concurrent use. Where nodes are simulated it may run faster than the wall
// clock.
type Clock interface {
	Now() time.Time
	// Wall is how long a span of that time takes on the wall clock.
	Wall(time.Duration) time.Duration
}

// Config describes what an Agent measures and to whom it reports. Name, Meter and Pods are
// required; the zero value of every other field is its default.
type Config struct {
	// Name is that of the node in Kubernetes.
	Name string
	// Meter measures the machine, and Pods lists the pods on it. Both belong
	// to the Agent until Run has returned; it closes neither.
	Meter Meter
	Pods  telemetry.PodSource
	// Reserve is the share, in [0,1), of a channel that pods leave free, by the
	// channel's name; 0 by default.
	Reserve map[string]float64
	// Pronto, if set, has the node follow Pronto's rejection signal instead of its
	// room (agent.Config.Pronto).
	Pronto *pronto.Config

	// Schedulers are gRPC targets, as in publish.SignalsConfig; by default there
	// are none.
	Schedulers []string
	// Aggregator is a gRPC target; without one the node keeps to itself.
	Aggregator string
	// Transport is the agent's identity and trust towards both; its zero value
	// is plaintext, for loopback and Unix sockets alone.
	Transport transport.Config
	// TokenFile holds the service account token that schedulers ask for, read anew
	// for each stream; empty for none. It needs TLS.
	TokenFile string
	// AggregatorTokenFile is the same for the aggregator, whose audience is
	// another: a receiver must not be able to show a node's token to the next.
	AggregatorTokenFile string
	// Refresh is how often dns:/// names among the schedulers are looked up,
	// besides whenever a stream fails; default 30 s.
	Refresh time.Duration
	// Backoff is the wait between attempts to reach a peer, default 100 ms to 5 s, of
	// profilers to 30 s.
	Backoff publish.Backoff

	// Usage, if set, reads what pods take from the node, and Profilers, gRPC targets,
	// get that. It belongs to the Agent until Run has returned.
	Usage     UsageMeter
	Profilers []string
	// ProfilerTokenFile is to profilers what TokenFile is to schedulers, of an audience
	// of its own.
	ProfilerTokenFile string

	// Energy, if set, measures what the machine takes in joules and what its pods take
	// of it.
	Energy *EnergyConfig

	// OnReport, if set, gets each report, which it must not modify. Calls come one at
	// a time, from the goroutine of Run, and must not block.
	OnReport func(agent.Report)
	// Period is the time between two samples, default 100 ms. The filter's
	// constants are made for that.
	Period time.Duration
	// Clock is the node's time, in which Period counts; nil is the wall clock,
	// whose steps are kept from the samples.
	Clock Clock
	// RecordDir, if set, is where Run records samples, pods and reports for
	// package recording to replay. Record bounds the files; its State is ignored.
	RecordDir string
	Record    recording.Options
	// Logger gets what goes wrong and when it is right again; nil logs nothing.
	Logger *slog.Logger
	// Registerer gets the metrics, spazio_agent_…, spazio_signal_…, spazio_model_… and
	// spazio_energy_…; nil registers none.
	Registerer prometheus.Registerer
}

// defaultPeriod is the 10 Hz that the pipeline's defaults are made for.
const defaultPeriod = 100 * time.Millisecond

// Validate returns a *field.Error for the first field that is missing or out of
// range, or what packages transport and recording refuse.
func (c Config) Validate() error {
	switch {
	case c.Name == "":
		return refuse("Name", `""`, "missing")
	case c.Meter == nil:
		return refuse("Meter", nil, "missing")
	case c.Pods == nil:
		return refuse("Pods", nil, "missing")
	case c.Period < 0:
		return refuse("Period", c.Period, "negative")
	}
	if err := c.validateReserve(); err != nil {
		return err
	}
	if err := c.validatePronto(); err != nil {
		return err
	}
	if err := c.signals().Validate(); err != nil {
		return published(err)
	}
	if err := c.validateUsage(); err != nil {
		return err
	}
	if c.Energy != nil {
		if err := c.Energy.validate(); err != nil {
			return err
		}
	}
	if c.Aggregator != "" {
		if err := c.models().Validate(); err != nil {
			err = published(err)
			if bad := field.By(err, "node"); bad != nil && bad.Field == "TokenFile" {
				bad.Field = "AggregatorTokenFile"
			}
			return err
		}
	}
	if c.RecordDir == "" {
		return nil
	}
	record := c.Record
	record.State = func() agent.State { return agent.State{} }
	return record.Validate()
}

// validatePronto names the field of Pronto that is refused.
func (c Config) validatePronto() error {
	if c.Pronto == nil {
		return nil
	}
	err := c.Pronto.Validate()
	if bad := field.By(err, "pronto"); bad != nil {
		return &field.Error{Package: "node", Field: "Pronto." + bad.Field, Value: bad.Value, Err: fmt.Errorf("%w: %w", ErrInvalid, bad.Err)}
	}
	if channels := len(c.Meter.Schema().Channels); err == nil && c.Pronto.Model.Rank > channels {
		return refuse("Pronto.Model.Rank", c.Pronto.Model.Rank, fmt.Sprintf("more than the %d channels", channels))
	}
	return err
}

func (c Config) validateUsage() error {
	if len(c.Profilers) > 0 && c.Usage == nil {
		return refuse("Profilers", c.Profilers, "need Usage")
	}
	err := published(c.usages().Validate())
	if bad := field.By(err, "node"); bad != nil {
		switch bad.Field {
		case "Schedulers":
			bad.Field = "Profilers"
		case "TokenFile":
			bad.Field = "ProfilerTokenFile"
		}
	}
	return err
}

func (c Config) usages() publish.UsagesConfig {
	return publish.UsagesConfig{
		Node: c.Name, Targets: c.Profilers, Transport: c.Transport, TokenFile: c.ProfilerTokenFile, Backoff: c.Backoff,
		Registerer: c.Registerer, Logger: c.Logger,
	}
}

func (c Config) validateReserve() error {
	channels := c.Meter.Schema().Channels
	for _, name := range slices.Sorted(maps.Keys(c.Reserve)) {
		share, field := c.Reserve[name], fmt.Sprintf("Reserve[%s]", name)
		if !slices.Contains(channels, name) {
			return refuse(field, share, "not measured, only "+strings.Join(channels, ","))
		}
		if !(share >= 0 && share < 1) {
			return refuse(field, share, "not a share in [0,1)")
		}
	}
	return nil
}

// signals and models are what c has of the streams, without the callbacks.
func (c Config) signals() publish.SignalsConfig {
	return publish.SignalsConfig{
		Targets: c.Schedulers, Refresh: c.Refresh, Transport: c.Transport, TokenFile: c.TokenFile, Backoff: c.Backoff,
		Registerer: c.Registerer, Logger: c.Logger,
	}
}

func (c Config) models() publish.ModelsConfig {
	return publish.ModelsConfig{
		Target: c.Aggregator, Transport: c.Transport, TokenFile: c.AggregatorTokenFile, Backoff: c.Backoff,
		Registerer: c.Registerer, Logger: c.Logger,
	}
}

// wall is how long a span of the node's time takes on the wall clock.
func (c Config) wall(d time.Duration) time.Duration {
	if c.Clock == nil {
		return d
	}
	return c.Clock.Wall(d)
}

func (c Config) period() time.Duration { return cmp.Or(c.Period, defaultPeriod) }

// pipeline is the config of the pipeline for the channels of the meter.
func (c Config) pipeline(incarnation uint64) (agent.Config, error) {
	schema, sizes := c.Meter.Schema(), c.Meter.SizesTo(nil)
	if len(sizes) != len(schema.Channels) {
		return agent.Config{}, refuse("Meter", sizes, fmt.Sprintf("sizes of %d channels", len(schema.Channels)))
	}
	p := agent.Config{
		Node: c.Name, Incarnation: incarnation,
		Schema: schema.ID, NoPressure: !c.Meter.Pressure(),
		Settle: filterLag * c.period(), Pronto: c.Pronto,
	}
	for i, name := range schema.Channels {
		p.Channels = append(p.Channels, agent.Channel{Name: name, Size: sizes[i], Reserve: c.Reserve[name]})
		if name == agent.CPU {
			p.Cores = sizes[i]
		}
	}
	return p, nil
}

// ErrInvalid is the reason of every field.Error of this package.
var ErrInvalid = publish.ErrInvalid

// ErrNoReport is returned while the agent has made no report yet.
var ErrNoReport = errors.New("no report yet")

func refuse(name string, value any, reason string) error {
	return &field.Error{Package: "node", Field: name, Value: value, Err: fmt.Errorf("%w: %s", ErrInvalid, reason)}
}

// published turns what package publish refuses into the field of a Config; other
// errors stay as they are.
func published(err error) error {
	bad := field.By(err, "publish")
	if bad == nil {
		return err
	}
	name := bad.Field
	if name == "Targets" {
		name = "Schedulers"
	}
	return &field.Error{Package: "node", Field: name, Value: bad.Value, Err: bad.Err}
}
