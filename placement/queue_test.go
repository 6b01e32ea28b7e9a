package placement_test

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/placement"
)

var operations = flag.Int("operations", 100_000, "how many random operations TestModel compares")

// world is the nodes of a test. A pod of class c takes as much as 1 + c%2 typical ones.
type world struct {
	slots, places [][]int
	delays        [testWorkloads]time.Duration
}

const testNodes, testPods, testWorkloads, testClasses = 6, 14, 4, 4

func newWorld() *world {
	w := &world{}
	for range testNodes {
		w.slots = append(w.slots, make([]int, testClasses))
		w.places = append(w.places, make([]int, testClasses))
	}
	return w
}

func (w *world) Slots(node, class int, beside []int) int {
	left := w.slots[node][class]
	for _, c := range beside {
		left -= 1 + c%2
	}
	return max(left, 0)
}

// apart is a world to a Queue, to which the numbers of its nodes are not consecutive, and which is
// given less than 0 where there is nothing. Nodes between them have no room.
type apart struct{ *world }

const distance = 2500

func (a apart) Slots(node, class int, beside []int) int {
	if node%distance > 0 || class >= testClasses {
		return 0
	}
	return orLess(a.world.Slots(node/distance, class, beside))
}

func (a apart) Places(node, class int) int {
	if node%distance > 0 || class >= testClasses {
		return 0
	}
	return orLess(a.world.Places(node/distance, class))
}

func orLess(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

func (w *world) Places(node, class int) int { return w.places[node][class] }

func (w *world) delay(workload int) time.Duration { return w.delays[workload] }

// delayed stands for the delay of a test's world.
func delayed(int) time.Duration { return 0 }

var configs = map[string]placement.Config{
	"immediate":              {MaxWait: 300 * time.Millisecond},
	"immediate, backing off": {MaxWait: 100 * time.Millisecond, Backoff: 50 * time.Millisecond, Retry: time.Second},
	"immediate, for ever":    {},
	"rounds": {
		MaxWait: 300 * time.Millisecond, Pause: 10 * time.Millisecond, Retry: 150 * time.Millisecond, Grant: 25 * time.Millisecond, Backoff: 40 * time.Millisecond,
	},
	"immediate, delayed": {MaxWait: 300 * time.Millisecond, Delay: delayed},
	"rounds, delayed": {
		MaxWait: 300 * time.Millisecond, Pause: 10 * time.Millisecond, Retry: 150 * time.Millisecond, Grant: 25 * time.Millisecond, Delay: delayed,
	},
	"rounds, nothing kept": {Pause: 10 * time.Millisecond, Backoff: 20 * time.Millisecond},
	"rounds, long grants":  {MaxWait: 50 * time.Millisecond, Pause: 5 * time.Millisecond, Retry: 20 * time.Millisecond, Grant: 60 * time.Millisecond},
}

// pair is a Queue and its model.
type pair struct {
	t *testing.T
	*world
	q   *placement.Queue
	m   *model
	now time.Duration
	// bystanders is the number of waiting pods that only the Queue has; see crowd.
	bystanders int
}

func newPair(t *testing.T, c placement.Config) *pair {
	w := newWorld()
	if c.Delay != nil {
		c.Delay = w.delay
	}
	return &pair{t: t, world: w, q: placement.New(c, apart{w}), m: newModel(c, w, testNodes, testWorkloads)}
}

// crowd adds nodes without room between those of the world, and pods of a class that has none anywhere,
// which wait for all nodes or a few.
func (p *pair) crowd(pods int) {
	for n := range testNodes * distance {
		if n%distance > 0 {
			p.q.AddNode(n)
		}
	}
	p.q.AddClass(testClasses)
	p.bystanders = pods
	for i := range pods {
		number, workload, nodes := testPods+i, testWorkloads+i%200, placement.EveryNode()
		if i%2 > 0 {
			at := i % 50 * distance / 10
			nodes = setOf([]int{at, at + 1}, i%4 == 1)
		}
		p.q.SetClass(workload, testClasses)
		p.q.AddPod(number, placement.Pod{Workload: workload, Priority: int32(i % 5), Order: int64(i % 7)})
		p.q.Try(number, p.now)
		p.q.Refuse(number, nodes, p.now)
	}
}

// step makes one operation, chosen by draw, which returns a number below n.
func (p *pair) step(draw func(n int) int) (what string) {
	pod, node, workload, class := draw(testPods), draw(testNodes), draw(testWorkloads), draw(testClasses)
	switch draw(22) {
	case 0, 1:
		of := placement.Pod{Workload: workload, Priority: int32(draw(3)), Order: int64(draw(5))}
		p.q.AddPod(pod, of)
		p.m.addPod(pod, of)
		return "AddPod"
	case 2:
		if draw(2) == 0 {
			p.q.RemovePod(pod)
			p.m.removePod(pod)
			return "RemovePod"
		}
		p.q.Reserve(pod, node*distance)
		p.m.reserve(pod, node)
		return "Reserve"
	case 3, 4:
		p.q.Try(pod, p.now)
		p.m.try(pod)
		return "Try"
	case 5, 6, 7:
		nodes, inverted := []int{}, draw(2) == 0
		for n := range testNodes {
			if draw(3) == 0 {
				nodes = append(nodes, n)
			}
		}
		if draw(3) == 0 {
			nodes, inverted = nil, true
		}
		p.q.Refuse(pod, setOf(apartFrom(nodes), inverted), p.now)
		p.m.refuse(pod, nodes, inverted)
		if draw(2) == 0 {
			p.startWait(pod)
		}
		return "Refuse"
	case 8:
		p.startWait(pod)
		return "StartWait"
	case 9, 18, 19:
		return p.rare(draw, pod, node, workload)
	case 10:
		p.q.AddClass(class)
		p.m.addClass(class)
		p.q.SetClass(workload, class)
		p.m.setClass(workload, class)
		if draw(2) == 0 {
			p.q.Recount(class, p.now)
			p.m.recount(class)
			return "SetClass, Recount"
		}
		return "SetClass"
	case 11:
		p.q.AddNode(node * distance)
		p.m.addNode(node)
		return "AddNode"
	case 12, 13, 14:
		p.slots[node][class], p.places[node][class] = draw(4), draw(3)
		p.places[node][0] = draw(3)
		p.q.NotifyNode(node*distance, p.now)
		p.m.notifyNode(node)
		return "NotifyNode"
	case 15:
		p.q.NotifyEnd(p.now)
		p.m.notifyEnd()
		return "NotifyEnd"
	case 16, 17:
		p.now += time.Duration(draw(30)) * time.Millisecond
		return p.advance()
	}
	what = p.advance()
	p.compare(what, true)
	switch draw(4) {
	case 0:
		p.q.RoundOverdue(3, p.now)
		p.m.roundOverdue(3)
		return "RoundOverdue"
	case 1:
		p.q.WakeIdle(2, p.now)
		p.m.wakeIdle(2)
		return "WakeIdle"
	}
	p.q.Round(p.now)
	p.m.round()
	return "Round"
}

// rare makes an operation of those that are rare.
func (p *pair) rare(draw func(n int) int, pod, node, workload int) string {
	switch draw(9) {
	case 7, 8:
		p.delays[workload] = time.Duration(draw(5))
		return "Delay"
	case 0:
		p.q.EndWait(pod, p.now)
		p.m.endWait(pod)
		return "EndWait"
	case 1:
		p.q.Fail(pod, p.now)
		p.m.fail(pod)
		return "Fail"
	case 2:
		p.q.Release(pod, p.now)
		p.m.giveUp(pod)
		return "Release"
	case 3:
		p.q.Wake(pod, p.now)
		p.m.wakeOne(pod)
		return "Wake"
	case 4:
		p.q.ResetNode(node * distance)
		p.m.resetNode(node)
		return "ResetNode"
	case 5:
		p.q.Recheck(node * distance)
		if p.m.nodes[node].present {
			p.m.markDue(node)
		}
		return "Recheck"
	}
	p.q.RemoveNode(node*distance, p.now)
	p.m.removeNode(node)
	return "RemoveNode"
}

func (p *pair) startWait(pod int) {
	p.t.Helper()
	if got, want := p.q.StartWait(pod, p.now), p.m.startWait(pod); got != want {
		p.t.Fatalf("StartWait(%d) = %t, want %t", pod, got, want)
	}
}

func apartFrom(nodes []int) (numbers []int) {
	for _, n := range nodes {
		numbers = append(numbers, n*distance)
	}
	return numbers
}

func (p *pair) advance() string {
	p.q.Advance(p.now)
	p.m.advance(p.now)
	return "Advance"
}

// compare holds what is to be seen of the Queue against the model. Of pods whose pauses end at
// once the order of wakes does not matter.
func (p *pair) compare(what string, anyOrder bool) {
	p.t.Helper()
	got, want := slices.Clone(p.q.Woken()), p.m.woken
	p.m.woken = nil
	if anyOrder {
		slices.Sort(got)
		slices.Sort(want)
	}
	if !slices.Equal(got, want) {
		p.t.Fatalf("%s at %v woke pods %v, want %v", what, p.now, got, want)
	}
	waiting, due := 0, false
	for _, pod := range p.m.pods {
		if pod.waiting {
			waiting++
		}
		if got := p.q.IsOverdue(pod.number); got != pod.overdue {
			p.t.Fatalf("%s: pod %d is overdue: %t, want %t", what, pod.number, got, pod.overdue)
		}
		for node := range testNodes {
			if got, want := p.q.MayExceed(pod.number, node*distance), p.m.mayExceed(pod.number, node); got != want {
				p.t.Fatalf("%s: pod %d may exceed node %d: %t, want %t", what, pod.number, node, got, want)
			}
		}
	}
	due = len(p.m.due) > 0
	at, ok := p.q.Next()
	if d := cmp.Diff([]any{waiting, due}, []any{p.q.Waiting() - p.bystanders, ok && at == 0}); d != "" {
		p.t.Fatalf("%s: waiting pods and due nodes (-want +got):\n%s", what, d)
	}
	for w, class := range p.m.workloads {
		if got := p.q.Class(w); got != class {
			p.t.Fatalf("%s: workload %d is of class %d, want %d", what, w, got, class)
		}
	}
}

func setOf(nodes []int, inverted bool) (s placement.WaitSet) {
	if inverted {
		s = placement.EveryNode()
		s.Remove(1000)
		s.Add(1000)
	}
	for _, n := range nodes {
		if inverted {
			s.Remove(n)
		} else {
			s.Add(n)
		}
	}
	return s
}

// TestModel compares random operations with what a model in lists and loops does.
func TestModel(t *testing.T) {
	const run = 2000
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			for i := range max(1, *operations/len(configs)/run) {
				seed := rand.Uint64()
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				t.Logf("seed %d, run %d", seed, i)
				p := newPair(t, c)
				for range run {
					what := p.step(rng.IntN)
					p.compare(what, what == "Advance")
				}
			}
		})
	}
}

// FuzzModel does what TestModel does with operations that the fuzzer chooses.
func FuzzModel(f *testing.F) {
	f.Add(uint8(0), []byte("\x01\x01\x01\x01\x00\x02\x05"))
	f.Add(uint8(3), []byte("\x00\x00\x00\x00\x05\x01\x01\x01\x01\x0c\x03\x01\x00\x00\x00\x00\x12"))
	names := slices.Sorted(maps.Keys(configs))
	f.Fuzz(func(t *testing.T, config uint8, operations []byte) {
		p := newPair(t, configs[names[int(config)%len(names)]])
		draw := func(n int) int {
			if len(operations) == 0 {
				return 0
			}
			drawn := int(operations[0])
			operations = operations[1:]
			return drawn % n
		}
		for len(operations) > 0 {
			what := p.step(draw)
			p.compare(what, what == "Advance")
		}
	})
}

// What the Queue was not given it ignores.
func TestUnknownNumbers(t *testing.T) {
	for name, c := range configs {
		q := placement.New(c, newWorld())
		for _, number := range []int{-1, 3, 1 << 20} {
			q.Try(number, 0)
			q.Refuse(number, placement.EveryNode(), 0)
			q.Reserve(number, number)
			q.Fail(number, 0)
			q.Release(number, 0)
			q.Wake(number, 0)
			q.RemovePod(number)
			q.EndWait(number, 0)
			q.ResetNode(number)
			q.RemoveNode(number, 0)
			q.Recheck(number)
			q.NotifyNode(number, 0)
			q.SetClass(number, number)
			q.Recount(number, 0)
			if q.StartWait(number, 0) || q.IsOverdue(number) || q.MayExceed(number, number) || q.Class(number) != placement.Typical {
				t.Errorf("%s: number %d, which was not given, is known", name, number)
			}
		}
		q.AddPod(2, placement.Pod{})
		q.Reserve(2, -1)
		q.Reserve(2, 1<<20)
		q.AddPod(-1, placement.Pod{})
		q.AddPod(1, placement.Pod{Workload: -1})
		q.AddClass(-1)
		q.AddNode(-1)
		q.Round(time.Second)
		if woken := q.Woken(); len(woken) > 0 || q.Waiting() != 0 {
			t.Errorf("%s: pods %v are woken, %d wait", name, woken, q.Waiting())
		}
	}
}

// A pod that comes, goes or has a node before the caller asks which pods were woken is none of them.
func TestWakesAreTakenBack(t *testing.T) {
	for what, f := range map[string]func(q *placement.Queue){
		"Try":       func(q *placement.Queue) { q.Try(1, 1) },
		"Reserve":   func(q *placement.Queue) { q.Reserve(1, 0) },
		"RemovePod": func(q *placement.Queue) { q.RemovePod(1) },
	} {
		q := placement.New(placement.Config{Pause: time.Millisecond, Retry: time.Second}, newWorld())
		for pod := range 2 {
			q.AddPod(pod, placement.Pod{})
			q.Try(pod, 0)
			q.Wake(pod, 0)
		}
		f(q)
		if got := q.Woken(); !slices.Equal(got, []int{0}) {
			t.Errorf("after %s of pod 1 pods %v are woken, want 0 alone", what, got)
		}
	}
}

// TestModelInCrowd compares random operations in a Queue of 15,000 nodes and 150,000 pods, most of which
// have no part in them.
func TestModelInCrowd(t *testing.T) {
	pods := 150_000
	if testing.Short() {
		pods = 1500
	}
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			rng := rand.New(rand.NewPCG(seed, 0))
			t.Logf("seed %d", seed)
			p := newPair(t, c)
			p.crowd(pods)
			for range *operations / len(configs) {
				what := p.step(rng.IntN)
				p.compare(what, what == "Advance")
			}
		})
	}
}
