package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

func main() { program.Main(command()) }

// options are the flags.
type options struct {
	loads                  []int // in per cent of the machine
	pods, intervals, runs  int
	read, interval, warmUp time.Duration
	shape, noise           float64
	seed                   uint64
	virtual                bool
	cores                  int
	others                 float64
	check                  bool
	output                 string
}

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "fakerapl",
		Short: "Hold the energy charged to pods of real processes against a made-up machine's",
		Args:  program.Valid(func() error { return o.validate() }),
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := run(c.Context(), o, c.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := r.write(c.OutOrStdout(), o.output); err != nil || !o.check {
				return err
			}
			return errors.Join(r.missed()...)
		},
	}
	f := c.Flags()
	f.IntSliceVar(&o.loads, "loads", []int{10, 50, 100}, "loads to hold, in per cent of the machine")
	f.IntVar(&o.pods, "pods", 16, "pods, 2 to 256")
	f.IntVar(&o.intervals, "intervals", 13, "intervals in which pods are charged, at each load")
	f.DurationVar(&o.read, "read", time.Second, "how often counters are read")
	f.DurationVar(&o.interval, "interval", 5*time.Second, "how often pods are charged")
	f.DurationVar(&o.warmUp, "warm-up", time.Minute, "how long to learn the machine's power at all loads before")
	f.Float64Var(&o.shape, "shape", 1.4, "bend of a package's power, 1 to 10; 1 is a straight line")
	f.Float64Var(&o.noise, "noise", .02, "relative deviation of the power from the model's, 0 to .5")
	f.Uint64Var(&o.seed, "seed", 1, "seed of what is drawn")
	f.IntVar(&o.runs, "runs", 1, "runs, each of the next seed")
	f.BoolVar(&o.virtual, "virtual", false, "no processes: simulate what they do, in virtual time")
	f.IntVar(&o.cores, "cores", 1, "with --virtual: cores of a package")
	f.Float64Var(&o.others, "others", .06, "with --virtual: part of a CPU that others take, on one package or the other, 0 to .5")
	f.BoolVar(&o.check, "check", false, "exit with 1 if a bar is missed")
	f.StringVarP(&o.output, "output", "o", "table", "table or json")
	c.AddCommand(burnCommand())
	return c
}

func (o options) validate() error {
	for _, load := range o.loads {
		if load < 1 || load > 100 {
			return fmt.Errorf("--loads: %d is not in 1 to 100", load)
		}
	}
	switch {
	case o.pods < 2 || o.pods > 256:
		return fmt.Errorf("--pods: %d is not in 2 to 256", o.pods)
	case o.intervals < 1:
		return fmt.Errorf("--intervals: %d is not positive", o.intervals)
	case o.read < tick || o.read > time.Second:
		return fmt.Errorf("--read: %v is not in %v to 1s", o.read, tick)
	case o.interval < o.read:
		return fmt.Errorf("--interval: %v is less than --read", o.interval)
	case o.warmUp < 0:
		return fmt.Errorf("--warm-up: %v is negative", o.warmUp)
	case !(o.shape >= 1 && o.shape <= 10):
		return fmt.Errorf("--shape: %v is not in 1 to 10", o.shape)
	case !(o.noise >= 0 && o.noise < .5):
		return fmt.Errorf("--noise: %v is not in 0 to .5", o.noise)
	case o.runs < 1:
		return fmt.Errorf("--runs: %d is not positive", o.runs)
	case o.cores < 1 || o.cores > 1024:
		return fmt.Errorf("--cores: %d is not in 1 to 1024", o.cores)
	case !(o.others >= 0 && o.others <= .5):
		return fmt.Errorf("--others: %v is not in 0 to .5", o.others)
	case o.output != "table" && o.output != "json":
		return fmt.Errorf("--output: %q is neither table nor json", o.output)
	}
	return nil
}

// self is what the children run.
func self() (string, error) { return os.Executable() }
