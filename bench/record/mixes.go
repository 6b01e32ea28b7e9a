package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// mixes is a load that changes by the half minute, with an agent that records it.
type mixes struct {
	out      string
	runtime  string // runc, or empty for plain processes
	duration time.Duration
	phase    time.Duration // its mean length
	seed     uint64
	self     string
	progress io.Writer
}

// longest bounds a pod that does not end by itself.
const longest = 20 * time.Second

// The load: phases of exponential length, of pods that arrive at one of these rates a
// second, each of which does one of these things.
var (
	rates = []float64{0, .1, .3, .6, 1, 2}
	doing = []string{"pi", "pi", "train", "busy", "idle"}
)

func mixesCommand() *cobra.Command {
	var m mixes
	c := &cobra.Command{
		Use: "mixes", Short: "Record, as an agent does, mixes of pods that come and go",
		Args: program.Valid(func() error {
			if m.duration <= 0 || m.phase <= 0 {
				return fmt.Errorf("--duration %v, --phase %v: not positive", m.duration, m.phase)
			}
			return nil
		}),
		RunE: func(c *cobra.Command, _ []string) error {
			m.progress = c.ErrOrStderr()
			return m.record(c.Context())
		},
	}
	c.Flags().StringVar(&m.out, "out", "mixes", "directory of the recording")
	c.Flags().StringVar(&m.runtime, "runtime", "", "runc, to start each pod in a container; empty for a process")
	c.Flags().DurationVar(&m.duration, "duration", 30*time.Minute, "how long")
	c.Flags().DurationVar(&m.phase, "phase", 25*time.Second, "how long a rate of pods lasts in the mean")
	c.Flags().Uint64Var(&m.seed, "seed", 1, "of what comes when")
	return c
}

func (m *mixes) record(ctx context.Context) (err error) {
	if m.self, err = os.Executable(); err != nil {
		return err
	}
	reader, err := telemetry.NewReader(telemetry.Config{
		CPU: telemetry.CPUContended, Contention: telemetry.ContentionPressure,
		Channels: telemetry.Channels{MemoryPressure: true, IO: true},
	})
	if err != nil {
		return err
	}
	defer reader.Close()
	pods := newOwnPods()
	agent, err := node.New(node.Config{
		Name: "node", Meter: reader, Pods: pods, RecordDir: m.out, Record: recording.Options{FileSize: 1 << 30, TotalSize: 2 << 30},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, m.duration)
	defer cancel()
	recorded := make(chan error, 1)
	go func() {
		defer cancel() // no load without an agent
		recorded <- agent.Run(ctx)
	}()
	err = m.load(ctx, pods)
	cancel()
	return errors.Join(err, <-recorded)
}

// load starts pods until ctx ends, and waits for them.
func (m *mixes) load(ctx context.Context, pods *ownPods) error {
	rng := rand.New(rand.NewPCG(m.seed, 0))
	starter := starter{self: m.self, runtime: m.runtime, failed: make(chan error, 1)}
	defer starter.running.Wait()
	for number := 0; ctx.Err() == nil; {
		phase := time.Duration(rng.ExpFloat64() * float64(m.phase))
		rate := rates[rng.IntN(len(rates))]
		fmt.Fprintf(m.progress, "%.1f pods a second for %v\n", rate, phase.Round(time.Second))
		within, cancel := context.WithTimeout(ctx, phase)
		for rate > 0 && within.Err() == nil {
			wait := time.Duration(rng.ExpFloat64() / rate * float64(time.Second))
			if program.Sleep(within, wait) != nil {
				break
			}
			limit := min(time.Duration(rng.ExpFloat64()*3*float64(time.Second))+200*time.Millisecond, longest)
			starter.start(ctx, pods, number, doing[rng.IntN(len(doing))], limit)
			number++
		}
		<-within.Done()
		cancel()
		select {
		case err := <-starter.failed:
			return err
		default:
		}
	}
	return nil
}
