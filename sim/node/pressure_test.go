package node

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const mib = 1 << 20

// The values are those of kubelet's GetContainerOOMScoreAdjust.
func TestOOMScoreAdj(t *testing.T) {
	tests := []struct {
		class   QOSClass
		request float64
		want    int
	}{
		{BestEffort, 0, 1000},
		{Guaranteed, 4000 * mib, -997},
		{Burstable, 0, 999}, // it requests CPU alone
		{Burstable, 1 * mib, 999},
		{Burstable, 4000 * mib, 750},
		{Burstable, 4008 * mib, 750}, // 749.5, as the part taken off is rounded down
		{Burstable, 15999 * mib, 3},
		{Burstable, 20000 * mib, 3},
	}
	for _, test := range tests {
		if got := oomScoreAdj(test.class, test.request, 16000*mib); got != test.want {
			t.Errorf("class %d, %g MiB of 16,000: %d, want %d", test.class, test.request/mib, got, test.want)
		}
	}
}

// A container restarts at once, then after ten seconds and twice as long each time up to five
// minutes, and from the beginning after it has run for more than ten.
func TestRestartBackoff(t *testing.T) {
	var got []float64
	delay, next := 0., 0.
	for _, ran := range []float64{1, 1, 1, 1, 1, 1, 1, 600, 601, 1} {
		delay, next = restartBackoff(next, ran)
		got = append(got, delay)
	}
	want := []float64{0, 10, 20, 40, 80, 160, 300, 300, 0, 10}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
	}
}

func TestEvictionOrder(t *testing.T) {
	pods := []Pod{
		{ID: 1, QOS: Guaranteed, MemoryRequest: 9 * mib, Memory: 9 * mib},
		{ID: 2, QOS: Burstable, MemoryRequest: 5 * mib, Memory: 4 * mib},
		{ID: 3, QOS: Burstable, MemoryRequest: 5 * mib, Memory: 7 * mib},
		{ID: 4, Memory: 3 * mib, Priority: 1},
		{ID: 5, Memory: 1 * mib},
		{ID: 6, QOS: Burstable, MemoryRequest: 1 * mib, Memory: 4 * mib},
		{ID: 7, Memory: 3 * mib},
		{ID: 8, QOS: Burstable, MemoryRequest: 5 * mib, Memory: 1 * mib, Priority: -1},
	}
	m := &Model{params: Params{Memory: 100 * mib}}
	for _, p := range pods {
		m.containers = append(m.containers, &container{Pod: p, phase: Running, held: p.Memory})
	}
	var got []PodID
	for len(m.containers) > 0 {
		worst := m.worst(evictedBefore)
		got = append(got, worst.ID)
		m.containers = slices.DeleteFunc(m.containers, func(c *container) bool { return c == worst })
	}
	// Those beyond their request: of priority 0 by 3 (the younger first), 2, 1, then of 1.
	// The rest: of priority −1, then by 0 and −1.
	want := []PodID{7, 6, 3, 5, 4, 8, 1, 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// kubeletNode is a node of 10,000 MiB of which the system takes none, and with next to
// nothing on it.
func kubeletNode(seed uint64) Params {
	return Params{Memory: 10000 * mib, BaseMemory: 1e-12, Background: 1e-12, Seed: seed}
}

// While memory is short one pod is evicted at each check, a second after another; for five minutes
// after the last check that found it short the node refuses only BestEffort pods, and its status
// shows it.
func TestMemoryPressure(t *testing.T) {
	m, err := New(kubeletNode(1))
	if err != nil {
		t.Fatal(err)
	}
	bind := func(p Pod) error {
		p.Work = 1e6
		return m.Bind(m.now, p)
	}
	held := []Pod{
		{ID: 1, QOS: Burstable, MemoryRequest: 9880 * mib, Memory: 9880 * mib},
		{ID: 2, Memory: 10 * mib},
		{ID: 3, Memory: 15 * mib},
	}
	for _, p := range held {
		if err := bind(p); err != nil {
			t.Fatal(err)
		}
	}
	first := m.kubelet.check
	var gone []Transition
	for _, e := range m.AdvanceTo(nil, 100) {
		if e.Phase == Evicted {
			gone = append(gone, e)
		}
	}
	// 9,905 MiB are too much, 9,890 are not.
	if diff := cmp.Diff([]Transition{{first, 3, Evicted}}, gone, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("evicted (-want +got):\n%s", diff)
	}
	// The five minutes run from the check after the eviction until another check: they are ten
	// seconds apart.
	for id, test := range []struct {
		at     float64
		qos    QOSClass
		refuse bool
	}{
		{first + 100, BestEffort, true}, {first + 100, Burstable, false}, {first + 100, Guaranteed, false},
		{first + 300, BestEffort, true}, {first + 301.1, BestEffort, false},
	} {
		m.AdvanceTo(nil, test.at)
		if err := bind(Pod{ID: PodID(10 + id), QOS: test.qos}); errors.Is(err, ErrPressure) != test.refuse || !test.refuse && err != nil {
			t.Errorf("class %d at %g s: error %v", test.qos, test.at-first, err)
		}
	}
	if m.AdvanceTo(nil, first+311.1); m.MemoryPressure() {
		t.Error("the status has MemoryPressure ten seconds after its end")
	}
}

// twinPod is a pod of the naive version: it runs from a time on, is down until one, or is gone.
type twinPod struct {
	Pod
	runs             bool
	at, since, pause float64
	gone             bool
}

// twin is the node of TestNodeTwin in the plainest form: a loop over the times at which a pod
// begins to run or the kubelet checks its memory.
type twin struct {
	pods     []*twinPod
	memory   float64
	check    float64
	short    float64
	pressure bool
	happened []Transition
	log      []Transition // a look each: Pod is 1 under pressure
}

func (w *twin) used() (sum float64) {
	for _, p := range w.pods {
		if p.runs {
			sum += p.Memory
		}
	}
	return sum
}

// last returns the last of the running pods in an order of keys, the earlier keys first.
func (w *twin) last(keys ...func(p *twinPod) float64) *twinPod {
	var running []*twinPod
	for _, p := range w.pods {
		if p.runs {
			running = append(running, p)
		}
	}
	slices.Reverse(keys)
	for _, key := range keys { // a stable sort by each, the most important at last
		slices.SortStableFunc(running, func(a, b *twinPod) int {
			switch {
			case key(a) < key(b):
				return -1
			case key(a) > key(b):
				return 1
			}
			return 0
		})
	}
	if len(running) == 0 {
		return nil
	}
	return running[len(running)-1]
}

func (w *twin) badness(p *twinPod) float64 {
	switch p.QOS {
	case BestEffort:
		return p.Memory + w.memory
	case Guaranteed:
		return p.Memory - .997*w.memory
	}
	adj := 1000 - math.Floor(1000*p.MemoryRequest/w.memory)
	if adj < 3 {
		adj = 3
	} else if adj > 999 {
		adj = 999
	}
	return p.Memory + adj/1000*w.memory
}

func (w *twin) start(now float64) {
	for _, p := range w.pods {
		if !p.gone && !p.runs && p.at <= now {
			p.runs, p.since = true, p.at
			w.happened = append(w.happened, Transition{now, p.ID, Running})
		}
	}
	for w.used() > w.memory {
		p := w.last(w.badness)
		if p == nil {
			return
		}
		delay := p.pause
		if p.pause == 0 || now-p.since > 600 {
			delay, p.pause = 0, 10
		} else if p.pause *= 2; p.pause > 300 {
			p.pause = 300
		}
		p.runs, p.at = false, now+delay+.3
		w.happened = append(w.happened, Transition{now, p.ID, Restarting})
	}
}

func (w *twin) look(now float64) {
	w.check = now + 10
	if w.memory-w.used() >= 100*mib {
		if w.pressure && now-w.short >= 300 {
			w.pressure = false
		}
	} else {
		w.short, w.pressure = now, true
		p := w.last(
			func(p *twinPod) float64 {
				if p.Memory > p.MemoryRequest {
					return 1
				}
				return 0
			},
			func(p *twinPod) float64 { return -float64(p.Priority) },
			func(p *twinPod) float64 { return p.Memory - p.MemoryRequest },
		)
		if p != nil {
			p.runs, p.gone = false, true
			w.happened = append(w.happened, Transition{now, p.ID, Evicted})
			w.check = now + 1
		}
	}
	id := PodID(0)
	if w.pressure {
		id = 1
	}
	w.log = append(w.log, Transition{At: now, Pod: id})
}

func (w *twin) until(end float64) {
	for {
		next := w.check
		for _, p := range w.pods {
			if !p.gone && !p.runs {
				next = math.Min(next, p.at)
			}
		}
		if next > end {
			return
		}
		w.start(next)
		if w.check <= next {
			w.look(next)
		}
	}
}

// at reports whether the twin was under pressure.
func (w *twin) under(at float64) bool {
	pressure := false
	for _, look := range w.log {
		if look.At <= at {
			pressure = look.Pod == 1
		}
	}
	return pressure
}

// inOrder sorts pods that begin to run at one time by their numbers.
func inOrder(all []Transition) {
	slices.SortStableFunc(all, func(a, b Transition) int {
		if a.Phase != Running || b.Phase != Running || math.Abs(a.At-b.At) > 1e-5 {
			return 0
		}
		return int(a.Pod) - int(b.Pod)
	})
}

// Kills and evictions, restarts and refusals equal those of the naive version, however the time is
// cut.
func TestNodeTwin(t *testing.T) {
	evictions, kills, refusals := 0, 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 77))
		m, err := New(kubeletNode(seed))
		if err != nil {
			t.Fatal(err)
		}
		w := &twin{memory: 10000 * mib, check: m.kubelet.check}
		status := m.kubelet.status
		for id := range 5 + rng.IntN(20) {
			p := Pod{
				ID: PodID(id), Work: 1e9, Cores: .01, Priority: int32(rng.IntN(2)), QOS: QOSClass(rng.IntN(3)),
				Memory: float64(50*rng.IntN(40)+1) * mib, Startup: 1 + 1500*rng.Float64(),
			}
			if p.QOS != BestEffort {
				p.MemoryRequest = float64(50*rng.IntN(40)) * mib
			}
			if err := m.Bind(0, p); err != nil {
				t.Fatal(err)
			}
			w.pods = append(w.pods, &twinPod{Pod: p, at: p.Startup})
		}
		const end = 3000
		w.until(end)
		var got []Transition
		for now := 0.; now < end; {
			now = min(now+rng.ExpFloat64()*20, end)
			for _, e := range m.AdvanceTo(nil, now) {
				if e.Phase != Starting {
					got = append(got, e)
				}
			}
			refused := errors.Is(m.Bind(now, Pod{ID: 1000}), ErrPressure)
			if !refused {
				m.Kill(1000)
			} else {
				refusals++
			}
			if refused != w.under(now) {
				t.Errorf("seed %d: at %g s refused: %v, twin %v", seed, now, refused, w.under(now))
			}
			report := status + 10*math.Floor((now-status)/10)
			if m.MemoryPressure() != w.under(report) {
				t.Errorf("seed %d: at %g s the status has pressure: %v, twin %v", seed, now, m.MemoryPressure(), w.under(report))
			}
		}
		inOrder(w.happened)
		inOrder(got)
		if diff := cmp.Diff(w.happened, got, cmpopts.EquateApprox(0, 1e-5)); diff != "" {
			t.Fatalf("seed %d (-twin +got):\n%s", seed, diff)
		}
		for _, e := range got {
			switch e.Phase {
			case Restarting:
				kills++
			case Evicted:
				evictions++
			}
		}
	}
	if evictions < 20 || kills < 200 || refusals < 50 {
		t.Errorf("%d evictions, %d kills, %d refusals: too few to show anything", evictions, kills, refusals)
	}
}

// A restarted container's usage continues from its former value.
func TestUsageOverRestarts(t *testing.T) {
	m, err := New(kubeletNode(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Pod{{ID: 1, Work: 100, Memory: 6000 * mib}, {ID: 2, Work: 10, Memory: 5000 * mib, Startup: 5, QOS: Guaranteed}} {
		if err := m.Bind(0, p); err != nil {
			t.Fatal(err)
		}
	}
	// The first is killed at 5 s and, after its immediate restart, at 5.3 s; the next time it
	// starts at 15.6 s, when the other has ended.
	m.AdvanceTo(nil, 10)
	u, ok := m.Usage(1)
	if want := (Usage{CPU: 5, Peak: 6000 * mib}); !ok || math.Abs(u.CPU-want.CPU) > .01 || u.Peak != want.Peak || u.Memory != 0 {
		t.Errorf("in back-off: %+v, want %+v", u, want)
	}
	m.AdvanceTo(nil, 20.6)
	if u, ok := m.Usage(1); !ok || math.Abs(u.CPU-10) > .02 || u.Memory != 6000*mib {
		t.Errorf("running again: %+v, want 10 core-seconds", u)
	}
	if lost := m.Totals().Lost; math.Abs(lost-5) > .01 {
		t.Errorf("%g core-seconds lost, want 5", lost)
	}
}
