package node_test

import (
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// counters is an idle machine's source of energy, which counts the samples between two readings.
type counters struct {
	samples int // since the last reading
	between chan int
}

func (*counters) Name() string            { return "counters" }
func (*counters) Quality() energy.Quality { return energy.Measured }
func (*counters) Period() time.Duration   { return time.Millisecond }
func (*counters) Close() error            { return nil }

func (c *counters) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	select {
	case c.between <- c.samples:
	default:
	}
	c.samples = 0
	return append(dst[:0], energy.Reading{Zone: "package-0", Counter: uint64(at.UnixMicro()), At: at}), nil
}

func (*counters) Observe(time.Time, []telemetry.Pod) {}

func (*counters) ReadNode() (telemetry.NodeCPU, error) { return telemetry.NodeCPU{Cores: 4}, nil }

func (*counters) ReadCPUTo(dst *telemetry.CPUUsage, at time.Time) error {
	dst.At, dst.Node, dst.Pods = at, telemetry.NodeCPU{Cores: 4}, dst.Pods[:0]
	return nil
}

// TestLoopMeasuresPower after each tenth sample.
func TestLoopMeasuresPower(t *testing.T) {
	c := &counters{between: make(chan int, 8)}
	sampler := &fakeSampler{probe: func(time.Time) { c.samples++ }}
	r := &loopRun{t: t, pods: newFakePods()}
	r.run(node.LoopConfig{
		Pipeline: newLoopPipeline(t), Sampler: sampler, Pods: r.pods, Period: 2 * time.Millisecond, Now: fastClock(),
		OnReport: func(agent.Report, time.Time) {}, OnLocal: func(agent.Local) {},
		Power: node.NewPowerMeter(node.EnergyConfig{Source: c, CPU: c}, nil),
	})
	<-c.between // with a sample before the first tick
	for range 4 {
		if n := <-c.between; n != 10 {
			t.Errorf("%d samples before power was measured, want 10", n)
		}
	}
}
