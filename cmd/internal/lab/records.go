package lab

import (
	"errors"
	"fmt"
	"io"
	"os"

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
	var files []*os.File
	create := func(name string) io.Writer {
		if name == "" || err != nil {
			return nil
		}
		var file *os.File
		if file, err = os.Create(name); err != nil {
			return nil
		}
		files = append(files, file)
		return file
	}
	recorder := experiment.NewRecorder(create(r.pods), create(r.timeline))
	recorder.Revision = revision()
	finish = func() error {
		errs := []error{recorder.Close()}
		for _, file := range files {
			errs = append(errs, file.Close())
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("write records: %w", err)
		}
		return nil
	}
	if err != nil {
		return nil, errors.Join(err, finish())
	}
	o.Observe = recorder.Observe
	return finish, nil
}
