package connection

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
)

// Job is what the thesis calls a job: a workload.
type Job = profile.Workload

// Flow is what went between a caller and who it calls: the bytes a second of requests
// and of responses. It is a plain value, safe for concurrent use.
type Flow struct {
	From, To          Job
	Request, Response float64
}

// bytes are those of both ways.
func (f Flow) bytes() float64 { return f.Request + f.Response }

// Config of a Graph. The zero value of a field is its default. It is a plain value,
// safe for concurrent reading.
type Config struct {
	// MaxJobs bounds the jobs, 0 means 20,000.
	MaxJobs int
	// halfLife is the age at which a second of traffic weighs half; 0 means 24 hours,
	// the autoscaler's for CPU, as the thesis names none.
	halfLife time.Duration
	// maxConnections bounds the jobs that one calls; those that carry most are kept.
	maxConnections int
}

// forget is how long a connection is kept that carries nothing, and a job that has none: eight
// half-lives, after which a byte weighs 2⁻⁸.
func (c Config) forget() time.Duration { return 8 * c.halfLife }

func (c Config) withDefaults() Config {
	c.halfLife = cmp.Or(c.halfLife, 24*time.Hour)
	c.MaxJobs = cmp.Or(c.MaxJobs, 20_000)
	c.maxConnections = cmp.Or(c.maxConnections, 256)
	return c
}

func (c Config) validate() error {
	if c.MaxJobs < 0 {
		return refuse("Config.MaxJobs", c.MaxJobs, "above 0, or 0 for the default")
	}
	return nil
}

// Graph has the jobs and what goes between them. It is safe for concurrent use.
type Graph struct {
	config Config
	mu     sync.RWMutex
	jobs   map[Job]*job
	// byAge has the same jobs, the one that was looked at longest ago first.
	byAge []*job
}

// job is a caller or a callee. Both ends of a call are jobs of the graph.
type job struct {
	name    Job
	updated time.Time // by the wall clock alone, so that all are comparable
	calls   map[Job]*traffic
	callers map[Job]bool
}

// traffic is a weighted sum of bytes, and of the seconds in which they went, each
// halved with every half-life until its time.
type traffic struct {
	at, used                   time.Time
	seconds, request, response float64
}

// New returns an empty graph.
func New(c Config) (*Graph, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Graph{config: c.withDefaults(), jobs: map[Job]*job{}}, nil
}

// Bounds of a flow: more goes through no machine, and is seen at no time.
const (
	mostBytes = 1 << 50
	longest   = 365 * 24 * time.Hour
)

func (f Flow) validate(i int) error {
	field := func(name string) string { return fmt.Sprintf("Flow[%d].%s", i, name) }
	switch {
	case !named(f.From):
		return refuse(field("From"), f.From, "named")
	case !named(f.To):
		return refuse(field("To"), f.To, "named")
	case !(f.Request >= 0) || f.Request > mostBytes:
		return refuse(field("Request"), f.Request, "from 0 to 2^50")
	case !(f.Response >= 0) || f.Response > mostBytes:
		return refuse(field("Response"), f.Response, "from 0 to 2^50")
	}
	return nil
}

func named(j Job) bool { return j.Namespace != "" && j.Name != "" }

func validate(at time.Time, span time.Duration, flows []Flow) error {
	if ns := at.Unix(); at.IsZero() || ns < 0 || ns > math.MaxInt64/int64(time.Second)/2 {
		return refuse("at", at, "since 1970")
	}
	if span <= 0 || span > longest {
		return refuse("span", span, "above 0, at most 1 year")
	}
	for i, f := range flows {
		if err := f.validate(i); err != nil {
			return err
		}
	}
	return nil
}

// Add makes a job known that may have no connection.
func (g *Graph) Add(at time.Time, of Job) error {
	if !named(of) {
		return refuse("job", of, "named")
	}
	if err := validate(at, time.Second, nil); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.job(at, of)
	return nil
}

// Observe takes in all that went between jobs in a span of time that ended at a time:
// what is not named carried nothing. Flows of the same two jobs add up; what a job
// sends to itself is no connection.
func (g *Graph) Observe(at time.Time, span time.Duration, flows []Flow) error {
	if err := validate(at, span, flows); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for from, j := range g.jobs {
		for to := range j.calls {
			g.pass(at, span, from, to)
		}
	}
	for _, f := range flows {
		g.add(at, span, f)
	}
	g.forget(at)
	for _, f := range flows {
		g.trim(f.From)
	}
	return nil
}

// job returns the one of that name, made if there is none, and reports that it has been
// looked at.
func (g *Graph) job(at time.Time, of Job) *job {
	j := g.jobs[of]
	if j == nil {
		if len(g.jobs) >= g.config.MaxJobs {
			g.drop(g.byAge[0])
		}
		j = &job{name: of, updated: at.Round(0), calls: map[Job]*traffic{}, callers: map[Job]bool{}}
		g.jobs[of] = j
		g.enter(j)
	}
	if at.After(j.updated) {
		g.update(j, at)
	}
	return j
}

// update sets when a job was looked at.
func (g *Graph) update(j *job, at time.Time) {
	g.leave(j)
	j.updated = at.Round(0)
	g.enter(j)
}

// compareAge puts the job that was looked at longest ago first; of several the first by name.
func compareAge(a, b *job) int {
	return cmp.Or(a.updated.Compare(b.updated), compare(a.name, b.name))
}

// enter puts a job into byAge.
func (g *Graph) enter(j *job) {
	i, _ := slices.BinarySearchFunc(g.byAge, j, compareAge)
	g.byAge = slices.Insert(g.byAge, i, j)
}

// leave takes a job out of byAge, before its time changes or it is dropped.
func (g *Graph) leave(j *job) {
	if i, there := slices.BinarySearchFunc(g.byAge, j, compareAge); there {
		g.byAge = slices.Delete(g.byAge, i, i+1)
	}
}

// drop forgets a job and its connections.
func (g *Graph) drop(j *job) {
	for from := range j.callers {
		delete(g.jobs[from].calls, j.name)
	}
	for to := range j.calls {
		delete(g.jobs[to].callers, j.name)
	}
	delete(g.jobs, j.name)
	g.leave(j)
}

// disconnect forgets a call of a job.
func (g *Graph) disconnect(j *job, to Job) {
	delete(j.calls, to)
	delete(g.jobs[to].callers, j.name)
}

// add counts a flow of a connection that may be new.
func (g *Graph) add(at time.Time, span time.Duration, f Flow) {
	if g.job(at, f.From).calls[f.To] == nil {
		g.pass(at, span, f.From, f.To)
	}
	g.carry(at, span, f)
}

// connect keeps what goes on a connection, if there is none yet, and returns what is kept:
// nil between two jobs of which one had to make room for the other.
func (g *Graph) connect(from, to Job, t *traffic) *traffic {
	callee, caller := g.job(t.at, to), g.job(t.at, from)
	if g.jobs[to] != callee {
		return nil
	}
	if known := caller.calls[to]; known != nil {
		return known
	}
	caller.calls[to], callee.callers[from] = t, true
	return t
}

// pass lets a span go by on a connection.
func (g *Graph) pass(at time.Time, span time.Duration, from, to Job) {
	if from == to {
		return
	}
	t := g.connect(from, to, &traffic{at: at, used: at})
	if t == nil {
		return
	}
	weight := 1.
	if age := at.Sub(t.at); age >= 0 {
		keep := g.weight(age)
		t.seconds, t.request, t.response, t.at = t.seconds*keep, t.request*keep, t.response*keep, at
	} else {
		weight = g.weight(-age)
	}
	t.seconds += weight * span.Seconds()
}

// carry adds a flow's bytes to a span that has gone by.
func (g *Graph) carry(at time.Time, span time.Duration, f Flow) {
	j := g.jobs[f.From]
	if j == nil || j.calls[f.To] == nil { // itself, or there was no room
		return
	}
	t := j.calls[f.To]
	weight := g.weight(max(t.at.Sub(at), 0)) * span.Seconds()
	t.request += weight * f.Request
	t.response += weight * f.Response
	if f.bytes() > 0 && at.After(t.used) {
		t.used = at
	}
}

func (g *Graph) weight(age time.Duration) float64 {
	return math.Exp2(-age.Seconds() / g.config.halfLife.Seconds())
}

// flow is the mean of what went.
func (t *traffic) flow(from, to Job) Flow {
	f := Flow{From: from, To: to}
	if t.seconds > 0 {
		f.Request, f.Response = t.request/t.seconds, t.response/t.seconds
	}
	return f
}

// forget drops connections that carried nothing for long, and jobs that were not looked at,
// as both ends of a connection are.
func (g *Graph) forget(at time.Time) {
	for _, j := range g.jobs {
		for to, t := range j.calls {
			if at.Sub(t.used) >= g.config.forget() {
				g.disconnect(j, to)
			}
		}
	}
	for _, j := range g.jobs {
		if at.Sub(j.updated) >= g.config.forget() {
			g.drop(j)
		}
	}
}

// trim drops of a job's connections those that carry least, while there are too many.
func (g *Graph) trim(of Job) {
	j := g.jobs[of]
	if j == nil || len(j.calls) <= g.config.maxConnections {
		return
	}
	for _, f := range callsOf(of, j)[g.config.maxConnections:] {
		g.disconnect(j, f.To)
	}
}

// callsOf are a job's calls, those that carry most first.
func callsOf(of Job, j *job) []Flow {
	flows := make([]Flow, 0, len(j.calls))
	for to, t := range j.calls {
		flows = append(flows, t.flow(of, to))
	}
	sortFlows(flows)
	return flows
}

// sortFlows puts those that carry most first.
func sortFlows(flows []Flow) {
	slices.SortFunc(flows, func(a, b Flow) int { return cmp.Or(cmp.Compare(b.bytes(), a.bytes()), compare(a.To, b.To)) })
}

func compare(a, b Job) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// Knows reports whether a job is one of the graph.
func (g *Graph) Knows(of Job) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.jobs[of] != nil
}

// GetJobConnections are the connections in which a job is the caller, those that carry
// most first; none of a job that is not known.
func (g *Graph) GetJobConnections(of Job) []Flow {
	g.mu.RLock()
	defer g.mu.RUnlock()
	j := g.jobs[of]
	if j == nil {
		return nil
	}
	return callsOf(of, j)
}

// Bandwidths returns what a job sends to others, as their caller and in answer to their
// calls together: flows with a Request alone, the largest first; none of a job that is not
// known.
func (g *Graph) Bandwidths(of Job) []Flow {
	g.mu.RLock()
	defer g.mu.RUnlock()
	j := g.jobs[of]
	if j == nil {
		return nil
	}
	sent := make(map[Job]float64, len(j.calls)+len(j.callers))
	for to, t := range j.calls {
		sent[to] += t.flow(of, to).Request
	}
	for from := range j.callers {
		sent[from] += g.jobs[from].calls[of].flow(from, of).Response
	}
	all := make([]Flow, 0, len(sent))
	for to, rate := range sent {
		all = append(all, Flow{From: of, To: to, Request: rate})
	}
	sortFlows(all)
	return all
}

// sorted are all jobs by name.
func (g *Graph) sorted() []Job {
	jobs := make([]Job, 0, len(g.jobs))
	for of := range g.jobs {
		jobs = append(jobs, of)
	}
	slices.SortFunc(jobs, compare)
	return jobs
}

// refuse makes a *field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "profile", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", profile.ErrInvalid, want)}
}
