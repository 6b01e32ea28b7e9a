package profiler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/profiler"
	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// world runs schedulings at once, as a cluster would in time: a job's run time depends on the jobs
// on its nodes.
type world struct {
	*testing.T
	bench *servertest.Bench
	// takes returns how long a job takes beside another, "" if it is alone.
	takes func(job, beside string) time.Duration
	// jobs is held while a job is read and written.
	jobs sync.Mutex

	mu sync.Mutex
	// end returns how a job's run ends, Succeeded if end is nil; "" never ends, skipped leaves the
	// job out while the scheduling completes.
	end func(job string) string
	ran []wire.Scheduling
}

func (w *world) setEnd(end func(job string) string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = end
}

func never(string) string { return "" }

const skipped = "skipped"

// heldStore writes the data of jobs while nothing else does. The world puts a job whole, with its data
// as it read them: what a profiler keeps there meanwhile would be lost.
type heldStore struct {
	server.Store
	jobs *sync.Mutex
}

func (s heldStore) UpdateExternal(ctx context.Context, caller server.Caller, namespace, name, version string, edit func(json.RawMessage) (json.RawMessage, error)) (wire.Job, error) {
	s.jobs.Lock()
	defer s.jobs.Unlock()
	return s.Store.UpdateExternal(ctx, caller, namespace, name, version, edit)
}

// newWorld returns jobs a, b, … in a namespace with two Testbeds, of one node and of three.
func newWorld(t *testing.T, jobs ...string) *world {
	w := &world{T: t}
	w.bench = servertest.Start(t, func(c *server.Config) {
		c.Limits.Rate, c.Limits.Burst = 1e6, 1e6 // several ask at once here, in no time
		c.Store = heldStore{c.Store, &w.jobs}
	})
	w.takes = func(string, string) time.Duration { return time.Second }
	w.bench.Store.PutTestbed(wire.Testbed{Meta: wire.Meta{Namespace: "team", Name: "small"}, Ready: true, Slots: ided(nodes(2))})
	w.bench.Store.PutTestbed(wire.Testbed{Meta: wire.Meta{Namespace: "team", Name: "large"}, Ready: true, Slots: ided(nodes(2, 2, 2))})
	for _, job := range jobs {
		w.bench.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: job}, Kind: "Job", State: "Ready"})
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		_ = w.bench.Store.Follow(ctx, func(c server.Change) {
			if s, ok := c.Object.(wire.Scheduling); ok && c.Type == wire.Added {
				w.carryOut(s)
			}
		}, func() {})
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return w
}

func ided(slots []wire.Slot) []wire.Slot {
	for i := range slots {
		slots[i].ID = fmt.Sprintf("%s/%d", slots[i].Node, slots[i].Position)
	}
	return slots
}

// carryOut runs the jobs of a scheduling, each beside those on its nodes.
func (w *world) carryOut(s wire.Scheduling) {
	w.mu.Lock()
	w.ran = append(w.ran, s)
	end := w.end
	w.mu.Unlock()
	s.State = "Completed"
	start := s.Created.Add(time.Second)
	for _, listed := range s.Slots.Jobs {
		_, name, _ := strings.Cut(listed.Job, "/")
		if name == "" {
			name = listed.Job
		}
		outcome := "Succeeded"
		if end != nil {
			outcome = end(name)
		}
		if outcome == "" {
			return
		}
		if outcome == skipped {
			s.Jobs = append(s.Jobs, wire.SchedulingJob{Job: "team/" + name})
			continue
		}
		finish := start.Add(w.takes(name, w.beside(s, listed)))
		run := wire.Run{Scheduling: s.Namespace + "/" + s.Name, Submitted: s.Created, Started: &start, Finished: &finish, Outcome: outcome, Reason: "because"}
		for _, ref := range listed.Slots {
			run.Slots = append(run.Slots, ref.String())
		}
		if err := w.record(name, run); err != nil {
			w.Error(err)
			return
		}
		s.Jobs = append(s.Jobs, wire.SchedulingJob{Job: "team/" + name, State: "Completed"})
		if outcome != "Succeeded" {
			s.State = "Failed"
		}
	}
	w.bench.Store.PutScheduling(s)
}

// record adds a run to a job.
func (w *world) record(name string, run wire.Run) error {
	w.jobs.Lock()
	defer w.jobs.Unlock()
	job, err := w.bench.Store.Job(w.Context(), "team", name)
	if err != nil {
		return err
	}
	job.Runs = append(slices.Clone(job.Runs), run)
	w.bench.Store.PutJob(job)
	return nil
}

// beside returns the job that shares the nodes of another.
func (w *world) beside(s wire.Scheduling, of wire.SlotJob) string {
	on := map[string]bool{}
	for _, ref := range of.Slots {
		on[ref.ID.Node] = true
	}
	for _, other := range s.Slots.Jobs {
		if other.Job == of.Job || !on[other.Slots[0].ID.Node] {
			continue
		}
		return other.Job[strings.Index(other.Job, "/")+1:]
	}
	return ""
}

func (w *world) profiler(edit func(*profiler.Config)) *profiler.Profiler {
	w.Helper()
	c, err := client.New(client.Config{URL: w.bench.URL, Token: client.StaticToken(servertest.Team)})
	if err != nil {
		w.Fatal(err)
	}
	config := profiler.Config{Client: c, Namespace: "team", Profiling: "small", Target: "large"}
	if edit != nil {
		edit(&config)
	}
	p, err := profiler.New(config)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// left returns the schedulings that still exist.
func (w *world) left() int {
	w.Helper()
	all, err := w.bench.Store.Schedulings(w.Context(), "team")
	if err != nil {
		w.Fatal(err)
	}
	return len(all)
}

// settle waits until the world has seen that many schedulings, and first for the first.
func (w *world) settle(count int) {
	for {
		w.mu.Lock()
		seen := len(w.ran)
		w.mu.Unlock()
		if seen >= count {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (w *world) first() wire.Scheduling {
	w.settle(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ran[0]
}

// seconds returns made-up run times of a job beside another.
func seconds(job, beside string) time.Duration {
	return time.Duration(10*len(beside)+3*int(job[0]-'a')+7*int((beside + "a")[0]-'a')) * time.Second
}

// Each pair is tried as often as configured, alone in its Testbed, and each job stores its own run
// times beside its other data.
func TestProfile(t *testing.T) {
	w := newWorld(t, "a", "b", "c", "d")
	w.takes = seconds
	job, _ := w.bench.Store.Job(t.Context(), "team", "b")
	job.External = json.RawMessage(`{"other":"kept","profiler":{}}`)
	w.bench.Store.PutJob(job)
	var trials []profiler.Trial
	p := w.profiler(func(c *profiler.Config) { c.OnTrial = func(t profiler.Trial) { trials = append(trials, t) } })
	if err := p.Profile(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	matrix, jobs, err := p.Matrix(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, jobs); diff != "" {
		t.Error(diff)
	}
	for _, a := range jobs {
		for _, b := range jobs {
			want := colocate.Cell{Count: 2, Mean: seconds(a, b).Seconds()}
			if a == b {
				want = colocate.Cell{}
			}
			if diff := cmp.Diff(want, matrix.At(a, b)); diff != "" {
				t.Errorf("%s beside %s: %s", a, b, diff)
			}
		}
	}
	for i, trial := range trials {
		if trial.Done != i+1 || trial.Of != 12 || trial.A != seconds(trial.Pair.A, trial.Pair.B).Seconds() || trial.B != seconds(trial.Pair.B, trial.Pair.A).Seconds() {
			t.Errorf("trial %d: %+v", i, trial)
		}
	}
	if len(trials) != 12 || w.left() != 0 {
		t.Errorf("%d trials, %d schedulings left", len(trials), w.left())
	}
	for _, s := range w.ran {
		if s.Testbed != "team/small" || !s.Exclusive || len(s.Slots.Jobs) != 2 {
			t.Errorf("ran %+v", s.SchedulingSpec)
		}
	}
	job, _ = w.bench.Store.Job(t.Context(), "team", "b")
	if !strings.Contains(string(job.External), `"other":"kept"`) {
		t.Errorf("the job keeps %s", job.External)
	}
}

// A profiler continues from the data of jobs, also in the thesis's form, and removes what a killed
// one has left.
func TestProfileGoesOn(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	kept := map[string]string{
		"a": `{"profiler":[{"b":"24 (16)"},{"c":"7 (1)"}]}`,
		"b": `{"profiler":{"a":{"count":1,"mean":5}}}`,
	}
	for name, external := range kept {
		job, _ := w.bench.Store.Job(t.Context(), "team", name)
		job.External = json.RawMessage(external)
		w.bench.Store.PutJob(job)
	}
	w.setEnd(never)
	ctx, cancel := context.WithCancelCause(t.Context())
	killed := errors.New("killed")
	go func() {
		w.first()
		cancel(killed)
	}()
	if err := w.profiler(nil).Profile(ctx, 1); !errors.Is(err, killed) {
		t.Fatalf("error %v, want the context's cause", err)
	}
	if w.left() != 0 {
		t.Fatalf("%d schedulings left", w.left())
	}
	// The data look as if they had not been deleted, but name slots that have changed.
	left := w.ran[0]
	left.Slots = &wire.SlotBased{Jobs: []wire.SlotJob{{Job: "team/a", Slots: []slot.Ref{{Index: 7}}}, {Job: "team/c", Slots: []slot.Ref{{Index: 8}}}}}
	w.bench.Store.PutScheduling(left)
	w.settle(2)
	w.setEnd(nil)
	var trials []colocate.Pair
	p := w.profiler(func(c *profiler.Config) {
		c.OnTrial = func(t profiler.Trial) { trials = append(trials, t.Pair) }
	})
	if err := p.Profile(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]colocate.Pair{{A: "a", B: "c"}, {A: "b", B: "c"}}, trials); diff != "" {
		t.Error(diff)
	}
	matrix, _, err := p.Matrix(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(colocate.Cell{Count: 16, Mean: 24}, matrix.At("a", "b")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(colocate.Cell{Count: 2, Mean: 4, Squares: 18}, matrix.At("a", "c")); diff != "" {
		t.Error(diff)
	}
}

// Several profilers keep each other's data.
func TestProfilersTogether(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.bench.Store.PutTestbed(wire.Testbed{Meta: wire.Meta{Namespace: "team", Name: "other"}, Ready: true, Slots: ided(nodes(2))})
	var mu sync.Mutex
	trials := 0
	var running sync.WaitGroup
	for _, bed := range []string{"small", "other", "team/large"} {
		p := w.profiler(func(c *profiler.Config) {
			c.Profiling, c.OnTrial = bed, func(profiler.Trial) {
				mu.Lock()
				defer mu.Unlock()
				trials++
			}
		})
		running.Go(func() {
			if err := p.Profile(t.Context(), 5); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	matrix, jobs, err := w.profiler(nil).Matrix(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, a := range jobs {
		for _, b := range jobs {
			count += matrix.At(a, b).Count
		}
	}
	if count != 2*trials {
		t.Errorf("%d runs are kept of %d trials", count, trials)
	}
}

func TestPairThatFails(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.setEnd(func(job string) string { return map[string]string{"a": "Succeeded", "b": "Failed"}[job] })
	err := w.profiler(func(c *profiler.Config) { profiler.SetAttempts(c, 2) }).Profile(t.Context(), 1)
	var failed *profiler.FailedError
	if !errors.Is(err, profiler.ErrFails) || !errors.As(err, &failed) || failed.Job != "b" || !strings.Contains(err.Error(), "because") {
		t.Errorf("error %v", err)
	}
	if len(w.ran) != 2 || w.left() != 0 {
		t.Errorf("tried %d times, %d schedulings left", len(w.ran), w.left())
	}
	job, _ := w.bench.Store.Job(t.Context(), "team", "a")
	if len(job.External) > 0 {
		t.Errorf("job a keeps %s of a pair that failed", job.External)
	}
}

// A run under an earlier scheduling of the same name does not count under this one.
func TestRunOfBefore(t *testing.T) {
	w := newWorld(t, "a", "b")
	if err := w.profiler(nil).Profile(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	w.setEnd(func(string) string { return skipped })
	err := w.profiler(func(c *profiler.Config) { profiler.SetAttempts(c, 1) }).Profile(t.Context(), 2)
	if !errors.Is(err, profiler.ErrFails) || !strings.Contains(err.Error(), "did not run") {
		t.Errorf("error %v", err)
	}
	if w.ran[0].Name != w.ran[1].Name {
		t.Errorf("the names are %s and %s", w.ran[0].Name, w.ran[1].Name)
	}
}

// A plan runs on as many nodes as there are, and its makespan is from the first start to the last
// end.
func TestSchedule(t *testing.T) {
	w := newWorld(t, "a", "b", "c", "d", "e", "f")
	w.takes = func(job, _ string) time.Duration { return time.Duration(job[0]-'a'+1) * time.Second }
	pairs := []colocate.Pair{{A: "a", B: "f"}, {A: "b", B: "c"}, {A: "d", B: "e"}}
	outcome, err := w.profiler(nil).Schedule(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Makespan() != 6 || len(outcome.Runs) != 6 || outcome.Runs["d"].Seconds() != 4 {
		t.Errorf("outcome %+v", outcome)
	}
	if diff := cmp.Diff([]string{"n2/1"}, outcome.Runs["e"].Slots); diff != "" {
		t.Error(diff)
	}
	if s := w.ran[0]; s.Testbed != "team/large" || s.Slots.Mode != "Relaxed" || w.left() != 0 {
		t.Errorf("ran %+v, %d left", s.SchedulingSpec, w.left())
	}
}

// An impossible plan is an error, and is not waited for.
func TestInfeasible(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.setEnd(never)
	go func() {
		s := w.first()
		s.Conditions = []wire.Condition{{Type: "Feasible", Status: "False", Reason: "NotAllowed", Message: "the Testbed is for others"}}
		w.bench.Store.PutScheduling(s)
	}()
	_, err := w.profiler(nil).Schedule(t.Context(), []colocate.Pair{{A: "a", B: "b"}})
	var failed *profiler.FailedError
	if !errors.As(err, &failed) || failed.Scheduling == "" || !strings.Contains(failed.Reason, "for others") || w.left() != 0 {
		t.Errorf("error %v, %d left", err, w.left())
	}
}

func TestRefused(t *testing.T) {
	c, err := client.New(client.Config{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		config profiler.Config
	}{
		{"Client", profiler.Config{Profiling: "small"}},
		{"Profiling", profiler.Config{Client: c}},
		{"Jobs", profiler.Config{Client: c, Profiling: "small", Jobs: []string{"a", "a"}}},
		{"Jobs", profiler.Config{Client: c, Profiling: "small", Jobs: []string{"x/a"}}},
	} {
		_, err := profiler.New(test.config)
		var name *field.Error
		if !errors.As(err, &name) || name.Field != test.name || !errors.Is(err, profiler.ErrInvalid) {
			t.Errorf("%s: error %v", test.name, err)
		}
	}
	w := newWorld(t, "a")
	if err := w.profiler(nil).Profile(t.Context(), 1); !errors.Is(err, profiler.ErrTooFew) {
		t.Errorf("one job: error %v", err)
	}
	if err := w.profiler(func(c *profiler.Config) { c.Jobs = []string{"a", "z"} }).Profile(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "no job z") {
		t.Errorf("a job that is not there: error %v", err)
	}
	job, _ := w.bench.Store.Job(t.Context(), "team", "a")
	job.External = json.RawMessage(`{"profiler":{"b":"soon"}}`)
	w.bench.Store.PutJob(job)
	if _, _, err := w.profiler(nil).Matrix(t.Context()); err == nil || !strings.Contains(err.Error(), "job a") {
		t.Errorf("data that can't be read: error %v", err)
	}
}
