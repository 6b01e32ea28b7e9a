package lab

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// records are the files of pods and timelines that a run leaves, as flags.
type records struct {
	pods, timeline string
}

func (r *records) bind(set *pflag.FlagSet) {
	set.StringVar(&r.pods, "pods", "", "also write a row a pod and run to this CSV file")
	set.StringVar(&r.timeline, "timeline", "", "also write how many pods wait, start and run, and what of the cluster is in use, second by second to this CSV file")
}

// timelinePeriod is the time from one row of a timeline to the next, in seconds.
const timelinePeriod = 1

// apply has the runs note their timeline, if one is asked for.
func (r *records) apply(p *experiment.Params) {
	if r.timeline != "" {
		p.Cluster.Timeline = timelinePeriod
	}
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
