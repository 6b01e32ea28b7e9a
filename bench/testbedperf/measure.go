package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// The bars: design's, on a machine of two cores that does nothing else.
const (
	barGhosts    = 60.  // s
	barWrites    = 0.   // in the whole time
	barCores     = .01  // while nothing happens
	barResident  = 200. // MiB
	barAcquire50 = .1   // s
	barAcquire99 = .25
	// barRequests is ours, not design's: a job is taken and given its request, its application
	// is created and, where others take longer than it is left alone for, noted; the rest is
	// shared by jobs.
	barRequests  = 4.
	barRate      = .8 // of the default profile's
	barSingle    = .1 // s
	barUnguarded = .02
	barBeside    = .97
)

// schedulerConfig has the default profile, and that of slots.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: KUBECONFIG, qps: 5000, burst: 5000}
profiles:
- schedulerName: default-scheduler
- schedulerName: spazio-slots
  percentageOfNodesToScore: 100
  plugins:
    multiPoint:
      enabled: [{name: Spazio}, {name: SpazioSlots}]
      disabled: [{name: NodeResourcesFit}, {name: NodeResourcesBalancedAllocation}, {name: DefaultPreemption}, {name: DefaultBinder}]
    preScore: {disabled: [{name: "*"}]}
    score: {enabled: [{name: SpazioSlots}], disabled: [{name: "*"}]}
  pluginConfig:
  - name: Spazio
    args: {listen: "127.0.0.1:0"}
`

// samples are what the pairs gave.
type samples struct {
	ghosts                             []float64 // s
	besideGhosts, besideNothing, plain []float64 // pods a second
	slots                              []float64
}

// rows are the figures of the pairs that are complete so far.
func (s *samples) rows() (all []row) {
	if len(s.ghosts) > 0 {
		all = append(all, row{What: "all ghosts bound, worst", Unit: "s", Value: slices.Max(s.ghosts), Bar: barGhosts, Of: slices.Sorted(slices.Values(s.ghosts))})
	}
	if of := ratios(s.slots, s.besideNothing); len(of) > 0 {
		all = append(all, row{What: "pods into slots, of the default profile's beside nothing", Unit: "ratio", Value: median(of), Bar: barRate, Least: true, Of: of})
	}
	if of := ratios(s.besideGhosts, s.plain); len(of) > 0 {
		all = append(all, row{What: "default profile beside ghosts, of that beside plain pods", Unit: "ratio", Value: median(of), Bar: barBeside, Least: true, Of: of})
	}
	return all
}

// ratios are those of each pair of which there are both, sorted.
func ratios(a, b []float64) (all []float64) {
	for i := range min(len(a), len(b)) {
		all = append(all, a[i]/b[i])
	}
	slices.Sort(all)
	return all
}

// measure returns what it has found, an error or not.
func measure(ctx context.Context, o options, progress io.Writer) (r *result, err error) {
	r = &result{Nodes: o.nodes, Slots: o.nodes * o.slots, Jobs: o.jobs}
	c, err := startCluster(ctx, o, progress)
	defer func() { err = errors.Join(err, c.close()) }()
	if err != nil {
		return r, err
	}
	scheduler, err := c.startScheduler(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.stop(scheduler)) }()

	var s samples
	defer func() { r.add(s.rows()...) }()
	for pair := range o.pairs {
		fmt.Fprintf(progress, "pair %d of %d\n", pair+1, o.pairs)
		if err := c.pair(ctx, pair == 0, &s, r); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (c *cluster) startScheduler(ctx context.Context) (*started, error) {
	path := filepath.Join(c.dir, "scheduler.yaml")
	text := strings.ReplaceAll(schedulerConfig, "KUBECONFIG", filepath.Join(c.dir, "spazio-scheduler.kubeconfig"))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return c.run(ctx, "spazio-scheduler", c.o.scheduler, "scheduler", "--config="+path, "--secure-port=0", "--debug-listen=")
}

// pair is one round of everything; what needs but one is measured in the first.
func (c *cluster) pair(ctx context.Context, first bool, s *samples, r *result) (err error) {
	operator, err := c.run(ctx, operatorUser, c.o.testbed, operatorUser, operatorArguments...)
	if err != nil {
		return err
	}
	stopped := false
	defer func() {
		if !stopped {
			err = errors.Join(err, c.stop(operator))
		}
	}()
	seconds, err := c.bindGhosts(ctx)
	if err != nil {
		return err
	}
	s.ghosts = append(s.ghosts, seconds)
	rate, err := c.placePlain(ctx, "beside-ghosts")
	if err != nil {
		return err
	}
	s.besideGhosts = append(s.besideGhosts, rate)
	if first {
		if err := errors.Join(c.keepStill(ctx, operator, r), c.acquire(ctx, r)); err != nil {
			return err
		}
	}
	// What comes next puts pods into slots itself, and takes the ghosts away.
	stopped = true
	if err := c.stop(operator); err != nil {
		return err
	}
	if first {
		if err := c.floors(ctx, r); err != nil {
			return err
		}
	}
	if rate, err = c.intoSlots(ctx, first, r); err != nil {
		return err
	}
	s.slots = append(s.slots, rate)
	if err := c.clear(ctx); err != nil {
		return err
	}
	if rate, err = c.placePlain(ctx, "beside-nothing"); err != nil {
		return err
	}
	s.besideNothing = append(s.besideNothing, rate)
	if _, err = c.place(ctx, "stand-in", c.o.nodes*c.o.slots); err != nil {
		return err
	}
	if rate, err = c.placePlain(ctx, "beside-plain"); err != nil {
		return err
	}
	s.plain = append(s.plain, rate)
	return c.clear(ctx)
}

// operatorArguments run spazio-testbed without interfaces and without a signal.
var operatorArguments = []string{
	"--kubeconfig=KUBECONFIG", "--leader-elect=false", "--debug-listen=", "--metrics-listen=", "--ghost-image=pause",
}

// testbedName is that of the test bed.
const testbedName = "perf"

var testbedReference = v1alpha1.TestbedReference{Name: testbedName}
