package figures

import (
	"cmp"
	"slices"

	"github.com/spazio-scheduler/spazio/sim/node"
)

// fit is a recorded run beside what the model of a node makes of its load.
type fit struct {
	measuredRun
	// readings has the model's for each sample, ends when it ends each job, in
	// seconds from the run's start.
	readings []node.Reading
	ends     []float64
	// steady are the samples during which as many workers ran as the run has.
	steady []int
}

// untilEnded is the work of a job that is ended by another's hand.
const untilEnded = 1e9

// fitRun gives the model each job when it began, with the CPU time that it took,
// or without an end of its own where it was ended.
func fitRun(m machine, r measuredRun, seed uint64) (fit, error) {
	f := fit{measuredRun: r, readings: make([]node.Reading, len(r.At)), ends: make([]float64, len(r.Jobs))}
	model, err := node.New(node.Params{
		Cores: m.Cores, Memory: m.Memory, Seed: seed,
		StartWork: 1, StopWork: 1, // processes, not containers
		Balanced: true, // in one group
	})
	if err != nil {
		return f, err
	}
	for i := range r.At {
		if f.isSteady(i) {
			f.steady = append(f.steady, i)
		}
	}
	return f, f.play(model)
}

// step is something that happens in a run.
type step struct {
	at     float64
	happen func() error
}

// kept reports whether the jobs are ended by the recorder.
func (f *fit) kept() bool { return f.Load == "busy" }

func (f *fit) play(model *node.Model) error {
	read := func(i int) func() error {
		return func() error {
			if r, ok := model.Read(); ok && i >= 0 {
				f.readings[i] = r
			}
			return nil
		}
	}
	// The first sample's span begins where one before would have ended.
	steps := []step{{2*f.At[0] - f.At[1], read(-1)}}
	for i, at := range f.At {
		steps = append(steps, step{at, read(i)})
	}
	for i, j := range f.Jobs {
		pod := node.Pod{ID: node.PodID(i), Work: j.CPU}
		if f.kept() {
			pod.Work = untilEnded
		}
		steps = append(steps, step{j.Start, func() error { return model.Bind(model.Now(), pod) }})
		if f.kept() {
			steps = append(steps, step{j.End, func() error { model.Kill(pod.ID); return nil }})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	origin := steps[0].at
	advance := func(to float64) {
		for _, t := range model.AdvanceTo(nil, to) {
			if t.Phase == node.Succeeded {
				f.ends[t.Pod] = t.At + origin
			}
		}
	}
	for _, s := range steps {
		advance(s.at - origin)
		if err := s.happen(); err != nil {
			return err
		}
	}
	for next, running := model.NextChange(); running; next, running = model.NextChange() {
		advance(max(next, model.Now()+1e-3))
	}
	return nil
}

// isSteady reports whether all workers ran throughout the i-th sample's span.
func (f *fit) isSteady(i int) bool {
	if i == 0 {
		return false
	}
	running := 0
	for _, j := range f.Jobs {
		if j.Start+settling <= f.At[i-1] && f.At[i] <= j.End {
			running++
		}
	}
	return running == f.Workers
}

// gap is how far the model is off in one quantity over the steady samples.
type gap struct {
	recorded, model float64 // means
	low, top        float64 // 5th and 95th percentile of the recorded samples
}

// off is how far the model's mean is from the recorded one.
func (g gap) off() float64 { return g.model - g.recorded }

// gap compares what was recorded and what the model says at each of the steady samples.
func (f *fit) gap(recorded, model func(i int) float64) gap {
	if len(f.steady) == 0 {
		return gap{}
	}
	var on, in []float64
	for _, i := range f.steady {
		on, in = append(on, recorded(i)), append(in, model(i))
	}
	return gap{recorded: mean(on), model: mean(in), low: quantile(on, .05), top: quantile(on, .95)}
}

func (f *fit) utilisation() gap {
	return f.gap(func(i int) float64 { return f.Utilisation[i] }, func(i int) float64 { return f.readings[i].Utilisation })
}

func (f *fit) pressure() gap {
	return f.gap(func(i int) float64 { return f.Pressure[i] }, func(i int) float64 { return f.readings[i].Pressure })
}

// runTime compares the mean time from a job's start to its end; both are 0 of
// jobs that are kept.
func (f *fit) runTime() (recorded, model float64) {
	if f.kept() {
		return 0, 0
	}
	for i, j := range f.Jobs {
		recorded += (j.End - j.Start) / float64(len(f.Jobs))
		model += (f.ends[i] - j.Start) / float64(len(f.Jobs))
	}
	return recorded, model
}
