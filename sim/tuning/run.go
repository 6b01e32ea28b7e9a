package tuning

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// errInvalid is the reason of every field.Error of this package.
var errInvalid = errors.New("invalid configuration or input")

// Config of a run. The zero value of a field is its default. It is a plain value, safe
// for concurrent reading.
type Config struct {
	// Scenario is what the services begin with, by default the developers' limits.
	Scenario Scenario
	// Tuner corrects it, by default Spazio's.
	Tuner Tuner
	// seed draws the application and its visits.
	seed uint64
	// Minutes is how long it serves, default 180, at least 60.
	Minutes int
}

func (c Config) withDefaults() Config {
	c.Scenario = cmp.Or(c.Scenario, developers)
	c.Tuner = cmp.Or(c.Tuner, spazio)
	c.Minutes = cmp.Or(c.Minutes, 180)
	return c
}

// Validate returns a *field.Error.
func (c Config) Validate() error {
	c = c.withDefaults()
	refuse := func(name string, value any, want string) error {
		return &field.Error{Package: "tuning", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", errInvalid, want)}
	}
	switch {
	case !slices.Contains(Scenarios(), c.Scenario):
		return refuse("Config.Scenario", c.Scenario, fmt.Sprint("one of ", Scenarios()))
	case !slices.Contains(Tuners(), c.Tuner):
		return refuse("Config.Tuner", c.Tuner, fmt.Sprint("one of ", Tuners()))
	case c.Minutes < 2*end || c.Minutes > 24*60:
		return refuse("Config.Minutes", c.Minutes, "from 60 to 1440, or 0 for the default")
	}
	return nil
}

const (
	// step is the minutes from one correction to the next (§6.3).
	step = 10
	// end is the minutes that count as the end of a run: of the rarest calls one has some
	// thousand periods in them.
	end = 3 * step
)

// minuteRow is what happened in a minute of a run, and what held meanwhile.
type minuteRow struct {
	// Latency is that of a mean visit in seconds.
	Latency float64 `json:"latency"`
	// Throttled is the largest share of a service's periods in which its limit held it
	// up; Requests and Limits are the sums of all, in cores. Without limits there are
	// none.
	Throttled float64 `json:"throttled"`
	Requests  float64 `json:"requests"`
	Limits    float64 `json:"limits"`
	// MemoryRequests and MemoryLimits are the same of memory, in bytes.
	MemoryRequests float64 `json:"memoryRequests"`
	MemoryLimits   float64 `json:"memoryLimits"`
	// Services has each of them.
	Services []moment `json:"services"`
}

// moment is a service in a minute: what it requested, in cores, the share of its periods
// in which its limit held it up, the memory that it held in bytes, and how often a second
// it touched a page for the first time, which the kernel counts as a failure of memory.
type moment struct {
	Service   string  `json:"service"`
	Request   float64 `json:"request"`
	Throttled float64 `json:"throttled"`
	Memory    float64 `json:"memory"`
	Faults    float64 `json:"memoryFailures"`
}

// pageSize in bytes.
const pageSize = 4096

// result is what came of a run.
type result struct {
	Minutes []minuteRow `json:"minutes"`
	// Latency and Throttled are means of the last half hour, Throttled of the service
	// that was held up most in it; Requests and Limits are the last, those of memory, too.
	// P95, P98 and P99 are percentiles of a visit's latency in that half hour.
	Latency   float64 `json:"latency"`
	P95       float64 `json:"latencyP95"`
	P98       float64 `json:"latencyP98"`
	P99       float64 `json:"latencyP99"`
	Throttled float64 `json:"throttled"`
	Requests  float64 `json:"requests"`
	Limits    float64 `json:"limits"`

	MemoryRequests float64 `json:"memoryRequests"`
	MemoryLimits   float64 `json:"memoryLimits"`
	// Settled is the time from which on the latency stayed within a tenth of that, as a
	// mean of five minutes, in minutes.
	Settled int `json:"settled"`
	// Clairvoyant is the sum of the least requests that are no less than the mean use
	// and whose limits, of twice them, hold no service up in more than 1 % of its
	// periods.
	Clairvoyant float64 `json:"clairvoyant"`
}

// nodeCores are those of each service's node.
const nodeCores = 4

// start of a run; profiles have slots of the day.
var start = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

// serve runs the application, and leaves the clairvoyant out, which depends on the cores and the seed alone.
func serve(c Config) (result, error) {
	if err := c.Validate(); err != nil {
		return result{}, err
	}
	c = c.withDefaults()
	services, visits := draw(c.seed)
	servers := make([]*server, len(services))
	for i, s := range services {
		var err error
		limit, memory := c.Scenario.start(s, visits)
		if servers[i], err = newServer(c, i, s, visits, limit, memory); err != nil {
			return result{}, err
		}
	}
	t, err := newTuner(c.Tuner, services)
	if err != nil {
		return result{}, err
	}
	var r result
	var seconds []float64
	rng := rand.New(rand.NewPCG(c.seed, 0x51c17))
	ends, responses := make([]float64, len(servers)), make([][]float64, len(servers))
	for minute := 1; minute <= c.Minutes; minute++ {
		var m minuteRow
		at := start.Add(time.Duration(minute) * time.Minute)
		for i, s := range servers {
			before := s.before.Memory
			reading := s.serve()
			if err := t.observe(at, i, reading); err != nil {
				return result{}, err
			}
			m.Latency += services[i].calls * reading.response
			m.add(services[i].name, s, reading, before)
			responses[i] = s.responses
			if minute > c.Minutes-end {
				ends[i] += reading.share() / end
			}
		}
		if minute > c.Minutes-end {
			seconds = visitSeconds(rng, seconds, services, visits, responses)
		}
		r.Minutes = append(r.Minutes, m)
		if minute%step != 0 || minute > c.Minutes-step {
			continue
		}
		requests, err := t.requests(at)
		if err != nil {
			return result{}, err
		}
		for i, request := range requests {
			if err := servers[i].resize(request); err != nil {
				return result{}, err
			}
		}
	}
	r.summarise(ends, seconds)
	return r, nil
}

// add adds a service's minute, at whose beginning it held so much memory.
func (m *minuteRow) add(name string, s *server, r reading, before float64) {
	m.Throttled = max(m.Throttled, r.share())
	m.Requests += s.request
	m.MemoryRequests, m.MemoryLimits = m.MemoryRequests+s.memory.request, m.MemoryLimits+s.memory.limit
	if s.limit < nodeCores {
		m.Limits += s.limit
	}
	faults := max(r.used.Memory-before, 0) / pageSize / r.span.Seconds()
	m.Services = append(m.Services, moment{name, s.request, r.share(), r.used.Memory, faults})
}

// Latency counts as settled within this share of where it ends, as a mean of so many
// minutes: a minute's of some hundred visits strays by a few per cent by itself.
const (
	settledBand = .1
	settledMean = 5
)

func (r *result) summarise(ends, visits []float64) {
	slices.Sort(visits)
	percentile := func(share float64) float64 { return stat.Quantile(share, stat.Empirical, visits, nil) }
	r.P95, r.P98, r.P99 = percentile(.95), percentile(.98), percentile(.99)
	for _, m := range r.Minutes[len(r.Minutes)-end:] {
		r.Latency += m.Latency / end
	}
	last := r.Minutes[len(r.Minutes)-1]
	r.Requests, r.Limits = last.Requests, last.Limits
	r.MemoryRequests, r.MemoryLimits = last.MemoryRequests, last.MemoryLimits
	for _, share := range ends {
		r.Throttled = max(r.Throttled, share)
	}
	for to := len(r.Minutes); to >= settledMean; to-- {
		mean := 0.
		for _, m := range r.Minutes[to-settledMean : to] {
			mean += m.Latency / settledMean
		}
		if math.Abs(mean/r.Latency-1) > settledBand {
			r.Settled = to
			return
		}
	}
}

// clairvoyantMinutes are as many as hold some ten thousand periods.
const clairvoyantMinutes = 20

// clairvoyant is the sum of the least requests that are enough.
func clairvoyant(c Config) (sum float64, err error) {
	services, visits := draw(c.seed)
	for i, of := range services {
		low, high := 0., float64(nodeCores)
		for high-low > .0005 {
			limit := (low + high) / 2
			s, err := newServer(c, i, of, visits, limit, of.memory)
			if err != nil {
				return 0, err
			}
			reading := s.run(clairvoyantMinutes)
			if reading.share() > throttledMost {
				low = limit
			} else {
				high = limit
			}
		}
		sum += max(high/limitFactor, visits*of.calls*of.work)
	}
	return sum, nil
}

// What is aimed at, and the thesis's ratio of limits to requests (table 6.3).
const (
	throttledMost = .01
	limitFactor   = 2
)

// server is a service on its node.
type server struct {
	model          *node.Model
	request, limit float64
	memory         memory
	before         node.Usage
	now            float64
	responses      []float64
	response       float64 // mean of the last minutes in which there were any, in seconds
}

const pod = 1

func newServer(c Config, i int, of service, visits, limit float64, memory memory) (*server, error) {
	seed := c.seed<<8 + uint64(i)
	m, err := node.New(node.Params{Cores: nodeCores, Seed: seed})
	if err != nil {
		return nil, err
	}
	s := &server{model: m, request: limit / limitFactor, limit: limit, memory: memory}
	return s, m.Bind(0, node.Pod{
		ID: pod, Limit: limit, Memory: memory.held, Ramp: memoryRamp, Seed: seed,
		Server: node.Server{Rate: visits * of.calls, Work: of.work},
	})
}

// look is the time between two readings of a pod, which an agent takes every 10 s.
const look = 10.

// reading is what a service took in a span of time.
type reading struct {
	span     time.Duration
	used     node.Usage
	demands  []float64 // cores of each look
	response float64   // mean, in seconds; that before where there was none
}

// share is that of the periods in which the limit held it up.
func (r reading) share() float64 {
	if r.used.Periods == 0 {
		return 0
	}
	return float64(r.used.ThrottledPeriods) / float64(r.used.Periods)
}

// serve runs the service for a minute.
func (s *server) serve() reading { return s.run(1) }

func (s *server) run(minutes int) reading {
	r := reading{span: time.Duration(minutes) * time.Minute}
	first := s.before
	for range minutes * int(time.Minute.Seconds()/look) {
		s.now += look
		s.model.AdvanceTo(nil, s.now)
		usage, _ := s.model.Usage(pod)
		took := less(usage, s.before)
		r.demands = append(r.demands, (took.CPU+max(took.Stalled-took.Throttled, 0))/look)
		s.before = usage
	}
	r.used = less(s.before, first)
	s.responses = s.model.Responses(s.responses[:0])
	mean := 0.
	for _, seconds := range s.responses {
		mean += seconds / float64(len(s.responses))
	}
	if len(s.responses) > 0 {
		s.response = mean
	}
	r.response = s.response
	return r
}

func less(a, b node.Usage) node.Usage {
	return node.Usage{
		CPU: a.CPU - b.CPU, Stalled: a.Stalled - b.Stalled, Memory: a.Memory, Peak: a.Peak,
		Throttled: a.Throttled - b.Throttled, Periods: a.Periods - b.Periods, ThrottledPeriods: a.ThrottledPeriods - b.ThrottledPeriods,
	}
}

// resize sets the requests, and the limits to twice them; without CPU it leaves all.
func (s *server) resize(request profile.Amounts) error {
	if request.CPU == 0 {
		return nil
	}
	s.request, s.limit = request.CPU, limitFactor*request.CPU
	s.memory.request, s.memory.limit = request.Memory, limitFactor*request.Memory
	return s.model.Resize(pod, s.limit)
}
