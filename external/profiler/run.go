package profiler

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// FailedError is the error of a scheduling that cannot be carried out, or of a job of it that failed.
type FailedError struct {
	// Scheduling is its name.
	Scheduling string
	// Job is the job that failed; empty if none has.
	Job    string
	Reason string
}

func (e *FailedError) Error() string {
	if e.Job == "" {
		return fmt.Sprintf("profiler: scheduling %s: %s", e.Scheduling, e.Reason)
	}
	return fmt.Sprintf("profiler: job %s of scheduling %s: %s", e.Job, e.Scheduling, e.Reason)
}

// Run is the run of one job.
type Run struct {
	Slots             []string
	Started, Finished time.Time
}

// Seconds is how long it took.
func (r Run) Seconds() float64 { return r.Finished.Sub(r.Started).Seconds() }

// Outcome is the result of a scheduling.
type Outcome struct {
	// Runs are by the job's name.
	Runs map[string]Run
}

// Makespan is from the first start to the last end, in seconds; 0 without runs.
func (o Outcome) Makespan() float64 {
	var first, last time.Time
	for _, run := range o.Runs {
		if first.IsZero() || run.Started.Before(first) {
			first = run.Started
		}
		if run.Finished.After(last) {
			last = run.Finished
		}
	}
	return last.Sub(first).Seconds()
}

// run carries pairs out in a Testbed and leaves nothing behind. Slots that the pairs leave
// empty are filled by m, unless it is nil.
func (p *Profiler) run(ctx context.Context, testbed, prefix string, pairs []colocate.Pair, m *colocate.Matrix, spec wire.SchedulingSpec) (outcome Outcome, err error) {
	namespace, bed := p.c.Namespace, testbed
	if before, after, qualified := strings.Cut(testbed, "/"); qualified {
		namespace, bed = before, after
	}
	slots, err := p.c.Client.Slots(ctx, namespace, bed)
	if err != nil {
		return Outcome{}, err
	}
	spec.Testbed, spec.Slots = namespace+"/"+bed, &wire.SlotBased{Mode: "Relaxed"}
	if spec.Slots.Jobs, err = place(slots, pairs); err != nil {
		return Outcome{}, fmt.Errorf("profiler: Testbed %s: %w", testbed, err)
	}
	if m != nil {
		spec.Slots.Jobs = fill(slots, spec.Slots.Jobs, m)
	}
	name := nameOf(prefix, testbed, pairs)
	made, err := p.create(ctx, name, spec)
	if err != nil && ctx.Err() == nil {
		return Outcome{}, err
	}
	defer func() {
		// Also if ctx has ended, even before it was known whether the scheduling was
		// made: one that is left behind would hold its slots.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
		defer cancel()
		err = errors.Join(err, p.remove(clean, name))
	}()
	if err != nil {
		return Outcome{}, err
	}
	ended, err := p.await(ctx, name, over(made.UID))
	if err != nil {
		return Outcome{}, err
	}
	return p.outcome(ctx, &made, ended)
}

// cleanup is how long the deletion of a scheduling may take after its profiler's context has ended.
const cleanup = 30 * time.Second

// nameOf is the name of a scheduling: the same each time, so that a profiler that was
// killed finds what it left.
func nameOf(prefix, testbed string, pairs []colocate.Pair) string {
	h := fnv.New64a()
	fmt.Fprint(h, testbed, pairs)
	return fmt.Sprintf("%s-%016x", prefix, h.Sum64())
}

// create makes a scheduling; one of its name that was left, of another time, goes first.
func (p *Profiler) create(ctx context.Context, name string, spec wire.SchedulingSpec) (wire.Scheduling, error) {
	if _, err := p.c.Client.Scheduling(ctx, p.c.Namespace, name); err == nil {
		p.c.Logger.Info("a scheduling was left and is deleted", "scheduling", name)
		if err := p.remove(ctx, name); err != nil {
			return wire.Scheduling{}, err
		}
	} else if !wire.IsStatus(err, http.StatusNotFound) {
		return wire.Scheduling{}, err
	}
	made, _, err := p.c.Client.CreateScheduling(ctx, p.c.Namespace, name, spec)
	return made, err
}

// remove deletes a scheduling and waits until its jobs are released.
func (p *Profiler) remove(ctx context.Context, name string) error {
	err := p.c.Client.DeleteScheduling(ctx, p.c.Namespace, name, "")
	if wire.IsStatus(err, http.StatusNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = p.await(ctx, name, func(s *wire.Scheduling) (bool, error) { return s == nil, nil })
	return err
}

// over returns a function that reports whether a scheduling that was made has ended, which is an
// error if it was deleted or can't be carried out. A replica may not know it yet, or may only
// know an earlier one of its name.
func over(uid string) func(*wire.Scheduling) (bool, error) {
	known := false
	return func(s *wire.Scheduling) (bool, error) {
		if s != nil && s.UID != uid {
			s = nil
		}
		switch {
		case s == nil && !known:
			return false, nil
		case s == nil || s.Deleting:
			return true, &FailedError{Reason: "it was deleted by somebody"}
		case s.State == "Completed" || s.State == "Failed":
			return true, nil
		}
		known = true
		for _, c := range s.Conditions {
			if c.Type == "Feasible" && c.Status == "False" {
				return true, &FailedError{Reason: c.Reason + ": " + c.Message}
			}
		}
		return false, nil
	}
}

// outcome reads the runs of a scheduling that has ended.
func (p *Profiler) outcome(ctx context.Context, made, ended *wire.Scheduling) (Outcome, error) {
	outcome := Outcome{Runs: make(map[string]Run, len(ended.Jobs))}
	for _, listed := range ended.Jobs {
		_, name, _ := strings.Cut(listed.Job, "/")
		job, err := p.c.Client.Job(ctx, p.c.Namespace, name)
		if err != nil {
			return Outcome{}, err
		}
		run, err := runOf(&job, made)
		if err != nil {
			return Outcome{}, err
		}
		outcome.Runs[name] = run
	}
	return outcome, nil
}

// runOf finds a job's run under a scheduling: its last, if that has succeeded.
func runOf(job *wire.Job, s *wire.Scheduling) (Run, error) {
	failed := &FailedError{Scheduling: s.Name, Job: job.Name, Reason: "it did not run"}
	for i := len(job.Runs) - 1; i >= 0; i-- {
		run := &job.Runs[i]
		if run.Scheduling != s.Namespace+"/"+s.Name || s.Created != nil && run.Submitted != nil && run.Submitted.Before(*s.Created) {
			continue
		}
		if run.Outcome == "Succeeded" && run.Started != nil && run.Finished != nil {
			return Run{Slots: run.Slots, Started: *run.Started, Finished: *run.Finished}, nil
		}
		failed.Reason = fmt.Sprintf("its run is %q: %s", run.Outcome, run.Reason)
		break
	}
	return Run{}, failed
}

// await follows a scheduling until done returns true, and returns it as it was then. done gets nil
// for a scheduling that does not exist.
func (p *Profiler) await(ctx context.Context, name string, done func(*wire.Scheduling) (bool, error)) (*wire.Scheduling, error) {
	scope := client.Scope{Kinds: []wire.Kind{wire.Schedulings}, Namespace: p.c.Namespace, Names: []string{name}, Lost: func(err error) {
		p.c.Logger.Warn("lost the connection to the interface; connecting again", "error", err)
	}}
	full := testbed.Name{Namespace: p.c.Namespace, Name: name}
	for view, err := range p.c.Client.Watch(ctx, scope) {
		if err != nil {
			return nil, err
		}
		var now *wire.Scheduling
		if s, there := view.Scheduling(full); there {
			now = &s
		}
		ok, err := done(now)
		var failed *FailedError
		if errors.As(err, &failed) {
			failed.Scheduling = name
		}
		if ok || err != nil {
			return now, err
		}
	}
	return nil, context.Cause(ctx)
}
