package lab

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// records are the files of pods and timelines that a run leaves, as flags.
type records struct {
	pods, timeline string
	period         float64
}

func (r *records) bind(set *pflag.FlagSet) {
	set.StringVar(&r.pods, "pods", "", "also write a row a pod and run to this CSV file")
	set.StringVar(&r.timeline, "timeline", "", "also write how many pods wait, start and run, and what of the cluster is in use, by time to this CSV file")
	set.Float64Var(&r.period, "timeline-period", 1, "seconds from one row of --timeline to the next")
}

// apply has the runs note their timeline.
func (r *records) apply(p *experiment.Params) error {
	if r.timeline == "" {
		return nil
	}
	if !(r.period > 0) {
		return fmt.Errorf("--timeline-period %g, want more than 0: %w", r.period, ErrFlag)
	}
	p.Cluster.Timeline = r.period
	return nil
}

// open has the runs recorded; the function it returns ends that.
func (r *records) open(o *experiment.Options) (finish func() error, err error) {
	if r.pods == "" && r.timeline == "" {
		return func() error { return nil }, nil
	}
	recorder, err := experiment.CreateRecorder(r.pods, r.timeline)
	if err != nil {
		return nil, err
	}
	recorder.Revision = revision()
	o.Observe = recorder.Observe
	return func() error {
		if err := recorder.Close(); err != nil {
			return fmt.Errorf("write records: %w", err)
		}
		return nil
	}, nil
}
