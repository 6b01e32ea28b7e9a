package profiler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// Errors of a Profiler.
var (
	// errInvalid is what a field.Error wraps.
	errInvalid = errors.New("invalid configuration")
	// ErrFails is wrapped when a pair failed each time that it was tried.
	ErrFails = errors.New("the pair fails")
	// ErrTooFew is wrapped when there are fewer than two jobs.
	ErrTooFew = errors.New("there are fewer than two jobs")
)

func refuse(name string, value any, want string) error {
	return &field.Error{Package: "profiler", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", errInvalid, want)}
}

// Config of a Profiler.
type Config struct {
	Client *client.Client
	// Namespace has the jobs and the schedulings; default "default".
	Namespace string
	// Jobs are the jobs' names; none are all of the namespace, whenever it is looked.
	Jobs []string
	// Profiling is the Testbed in which pairs are tried, NAME or NAMESPACE/NAME; Profile
	// needs it.
	Profiling string
	// Target is the Testbed in which plans are carried out, named alike; Schedule needs it.
	Target string
	// Greedy plans as the thesis does (colocate.Matrix.Greedy); else, and up to
	// colocate.MostExact jobs, no pairing is done sooner than the one that is planned.
	Greedy bool
	// OnTrial, if set, is called for each pair that was tried, by the goroutine that called
	// Profile.
	OnTrial func(Trial)
	// Logger gets what is done; nil logs nothing.
	Logger *slog.Logger

	// attempts is how often a pair may fail before Profile gives up; default 3.
	attempts int
}

// validate returns a *field.Error for the first field out of its range.
func (c Config) validate() error {
	switch {
	case c.Client == nil:
		return refuse("Client", "nil", "set")
	case c.Profiling == "" && c.Target == "":
		return refuse("Profiling", c.Profiling, "set, or Target")
	}
	for i, job := range c.Jobs {
		if job == "" || strings.Contains(job, "/") || slices.Contains(c.Jobs[:i], job) {
			return refuse("Jobs", strings.Join(c.Jobs, ","), "names of jobs of the namespace, each once")
		}
	}
	return nil
}

// Trial is a pair that was tried.
type Trial struct {
	Pair colocate.Pair
	// A and B are the seconds that the two took.
	A, B float64
	// Done is how many runs there have been of all pairs together, Of how many there are
	// to be; Of is 0 if there is no end.
	Done, Of int
}

// Profiler learns and plans. Its methods are safe for concurrent use; each of them asks the
// interface for the present state, and keeps nothing.
type Profiler struct {
	c Config
}

// New returns a Profiler; it sends no request yet.
func New(c Config) (*Profiler, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c.Namespace, c.attempts = cmp.Or(c.Namespace, "default"), cmp.Or(c.attempts, 3)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return &Profiler{c}, nil
}

// Matrix reads what is known of the jobs, and returns it with their names, sorted.
func (p *Profiler) Matrix(ctx context.Context) (*colocate.Matrix, []string, error) {
	jobs, err := client.Collect(p.c.Client.Jobs(ctx, p.c.Namespace))
	if err != nil {
		return nil, nil, err
	}
	matrix, names := new(colocate.Matrix), []string(nil)
	for i := range jobs {
		if len(p.c.Jobs) > 0 && !slices.Contains(p.c.Jobs, jobs[i].Name) || jobs[i].Deleting {
			continue
		}
		row, err := RowOf(&jobs[i])
		if err != nil {
			return nil, nil, err
		}
		if err := matrix.Set(jobs[i].Name, row); err != nil {
			return nil, nil, fmt.Errorf("profiler: job %s: %w", jobs[i].Name, err)
		}
		names = append(names, jobs[i].Name)
	}
	slices.Sort(names)
	if missing := slices.DeleteFunc(slices.Clone(p.c.Jobs), func(job string) bool { return slices.Contains(names, job) }); len(missing) > 0 {
		return nil, nil, fmt.Errorf("profiler: there is no job %s in namespace %s", strings.Join(missing, ", "), p.c.Namespace)
	}
	return matrix, names, nil
}

// Profile tries, again and again, the pair with the fewest runs, until each has had so many;
// 0 is until ctx ends. It returns ctx's cause if that ends first: the Scheduling of the pair
// that is being tried is deleted. Other errors are a *field.Error without a Profiling,
// ErrTooFew, ErrTooSmall, ErrFails, and those of the Client.
func (p *Profiler) Profile(ctx context.Context, samples int) error {
	if p.c.Profiling == "" {
		return refuse("Profiling", "", "set")
	}
	failures := make(map[colocate.Pair]int)
	for {
		matrix, jobs, err := p.Matrix(ctx)
		if err != nil {
			return err
		}
		pair, ok := matrix.Next(jobs)
		if !ok {
			return fmt.Errorf("profiler: namespace %s: %w", p.c.Namespace, ErrTooFew)
		}
		done, missing := progress(matrix, jobs, samples)
		if samples > 0 && missing == 0 {
			return nil
		}
		trial, err := p.try(ctx, pair)
		var failed *FailedError
		if errors.As(err, &failed) {
			failures[pair]++
			p.c.Logger.Warn("pair failed", "a", pair.A, "b", pair.B, "attempt", failures[pair], "reason", failed)
			if failures[pair] >= p.c.attempts {
				return fmt.Errorf("profiler: %s beside %s: %w: %w", pair.A, pair.B, ErrFails, err)
			}
			continue
		}
		if err != nil {
			return err
		}
		trial.Done = done + 1
		if samples > 0 {
			trial.Of = done + missing
		}
		p.c.Logger.Info("pair tried", "a", pair.A, "b", pair.B, "aSeconds", trial.A, "bSeconds", trial.B)
		if p.c.OnTrial != nil {
			p.c.OnTrial(trial)
		}
	}
}

// progress returns how many of the runs that all pairs are to have they have had, and how
// many they lack.
func progress(m *colocate.Matrix, jobs []string, samples int) (done, missing int) {
	for i, a := range jobs {
		for _, b := range jobs[i+1:] {
			had := min(m.At(a, b).Count, m.At(b, a).Count)
			if samples > 0 {
				had = min(had, samples)
			}
			done += had
			missing += max(0, samples-had)
		}
	}
	return done, missing
}

// Plan pairs the jobs by what is known. Nothing is run for it.
func (p *Profiler) Plan(ctx context.Context) (colocate.Plan, error) {
	matrix, jobs, err := p.Matrix(ctx)
	if err != nil {
		return colocate.Plan{}, err
	}
	if p.c.Greedy {
		return matrix.Greedy(jobs)
	}
	return matrix.Plan(jobs)
}

// try runs a pair in the Testbed for profiling, and keeps what it took in both jobs.
func (p *Profiler) try(ctx context.Context, pair colocate.Pair) (Trial, error) {
	outcome, err := p.run(ctx, p.c.Profiling, "profile", []colocate.Pair{pair}, nil, wire.SchedulingSpec{Exclusive: true, OnFailure: "Stop"})
	if err != nil {
		return Trial{}, err
	}
	trial := Trial{Pair: pair, A: outcome.Runs[pair.A].Seconds(), B: outcome.Runs[pair.B].Seconds()}
	if err := p.learn(ctx, pair.A, pair.B, trial.A); err != nil {
		return Trial{}, err
	}
	return trial, p.learn(ctx, pair.B, pair.A, trial.B)
}

// Schedule carries a plan out in the target Testbed: pairs that do not find a node of their
// own wait for others to end, and slots that pairs leave empty are filled (Fill). Nothing else runs there meanwhile. It returns when all jobs
// have ended; one that failed, or a plan that can't be carried out, is a *FailedError.
// Other errors are a *field.Error without a Target, ErrTooSmall, ctx's cause, and those of
// the Client.
func (p *Profiler) Schedule(ctx context.Context, pairs []colocate.Pair) (Outcome, error) {
	if p.c.Target == "" {
		return Outcome{}, refuse("Target", "", "set")
	}
	matrix, _, err := p.Matrix(ctx)
	if err != nil {
		return Outcome{}, err
	}
	return p.run(ctx, p.c.Target, "plan", pairs, matrix, wire.SchedulingSpec{Exclusive: true})
}
