package reserve_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/reserve"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	ttl    = 100 * time.Second
	linger = 10 * time.Second
)

// naive is a ledger that keeps one record a pod and recomputes everything.
type naive struct {
	pods map[reserve.PodKey]*record
	// turns counts claims, so that the oldest is found.
	turns int
}

type record struct {
	reserve.PodState
	at   time.Time
	turn int
}

func newNaive() *naive { return &naive{pods: make(map[reserve.PodKey]*record)} }

func (n *naive) put(pod reserve.PodKey, s reserve.PodState, now time.Time) {
	n.turns++
	n.pods[pod] = &record{PodState: s, at: now, turn: n.turns}
}

func (n *naive) inFlight(node string) (demand float64, pods int) {
	for _, p := range n.pods {
		if p.Node == node && p.Claim != reserve.Unclaimed && !p.Absorbed {
			demand += p.Demand
			pods++
		}
	}
	return demand, pods
}

func (n *naive) reserve(node string, pod reserve.PodKey, demand float64, now time.Time) bool {
	p := n.pods[pod]
	switch {
	case p != nil && p.Claim == reserve.Bound:
		return p.Node == node
	case p != nil && p.Claim == reserve.Assumed && p.Absorbed && p.Node == node:
		n.put(pod, p.PodState, now)
	default:
		n.put(pod, reserve.PodState{Node: node, Demand: demand, Claim: reserve.Assumed}, now)
	}
	return true
}

func (n *naive) unreserve(node string, pod reserve.PodKey) {
	if p := n.pods[pod]; p != nil && p.Claim == reserve.Assumed && p.Node == node {
		delete(n.pods, pod)
	}
}

func (n *naive) confirm(pod reserve.PodKey) {
	if p := n.pods[pod]; p != nil && p.Claim == reserve.Assumed {
		p.Claim = reserve.Bound
	}
}

func (n *naive) bound(node string, pod reserve.PodKey, demand float64) {
	p := n.pods[pod]
	if p == nil || p.Node != node {
		n.put(pod, reserve.PodState{Node: node, Demand: demand, Claim: reserve.Bound}, time.Time{})
		return
	}
	if p.Claim == reserve.Unclaimed {
		p.Demand = demand
	}
	p.Claim = reserve.Bound
}

func (n *naive) settle(pod reserve.PodKey) {
	if p := n.pods[pod]; p != nil && p.Claim != reserve.Unclaimed {
		p.Absorbed = true
	}
}

func (n *naive) absorb(node string, pods []reserve.PodKey, now time.Time) {
	for _, pod := range pods {
		p := n.pods[pod]
		switch {
		case p == nil || p.Claim == reserve.Unclaimed:
			n.put(pod, reserve.PodState{Node: node, Absorbed: true}, now)
		case p.Node == node:
			p.Absorbed = true
		}
	}
}

// expire looks at each claim's pods oldest first and stops at the first that is
// within its limit: a clock that was set back delays the limits of those behind.
func (n *naive) expire(now time.Time) {
	for claim, limit := range map[reserve.Claim]time.Duration{reserve.Assumed: ttl, reserve.Unclaimed: linger} {
		var watched []reserve.PodKey
		for pod, p := range n.pods {
			if p.Claim == claim {
				watched = append(watched, pod)
			}
		}
		slices.SortFunc(watched, func(a, b reserve.PodKey) int { return n.pods[a].turn - n.pods[b].turn })
		for _, pod := range watched {
			if now.Sub(n.pods[pod].at) < limit {
				break
			}
			delete(n.pods, pod)
		}
	}
}

func (n *naive) rebuild(pods []reserve.BoundPod) {
	listed := make(map[reserve.PodKey]bool)
	for _, p := range pods {
		listed[p.Pod] = true
	}
	for pod, p := range n.pods {
		if p.Claim == reserve.Bound && !listed[pod] {
			delete(n.pods, pod)
		}
	}
	for _, p := range pods {
		n.bound(p.Node, p.Pod, p.Demand)
	}
}

// twins is a ledger, its naive twin, and the last things both were told.
type twins struct {
	fast  *reserve.Ledger
	slow  *naive
	now   time.Time
	steps int
	last  [12]told
}

type told struct {
	what   int
	node   string
	pod    reserve.PodKey
	demand float64
}

func newTwins(t testing.TB) *twins {
	w := &twins{slow: newNaive(), now: epoch}
	w.fast = newFast(t)
	return w
}

func newFast(t testing.TB) *reserve.Ledger {
	fast, err := reserve.NewLedger(reserve.LedgerConfig{TTL: ttl, Linger: linger})
	if err != nil {
		t.Fatal(err)
	}
	return fast
}

const nodeCount, podCount = 4, 24

func nodeAt(i int) string { return string(rune('a' + i%nodeCount)) }

// step does one thing to both, drawn with the given source of numbers, and
// returns the pod it was done to.
func (w *twins) step(t testing.TB, draw func(n int) int) reserve.PodKey {
	node, pod := nodeAt(draw(nodeCount)), reserve.PodKey(draw(podCount))
	demand := []float64{1, .1, 2.5}[draw(3)]
	what := draw(12)
	w.last[w.steps%len(w.last)] = told{what, node, pod, demand}
	w.steps++
	switch what {
	case 0, 1:
		_ = w.fast.Reserve(node, pod, demand, w.now)
		w.slow.reserve(node, pod, demand, w.now)
	case 2:
		w.fast.Unreserve(node, pod)
		w.slow.unreserve(node, pod)
	case 3:
		w.fast.Confirm(pod)
		w.slow.confirm(pod)
	case 4, 5:
		_, _ = w.fast.Bound(node, pod, demand)
		w.slow.bound(node, pod, demand)
	case 6, 7: // a tombstone may repeat a deletion or be of a pod never seen
		for range 1 + draw(2) {
			w.fast.Delete(pod)
			delete(w.slow.pods, pod)
		}
	case 8:
		w.fast.Settle(pod)
		w.slow.settle(pod)
	case 9:
		list := make([]reserve.PodKey, draw(8))
		for i := range list {
			list[i] = reserve.PodKey(draw(podCount))
		}
		w.fast.Absorb(node, list, w.now)
		w.slow.absorb(node, list, w.now)
	case 10:
		w.now = w.now.Add(time.Duration(draw(5)) * time.Second)
		w.fast.Expire(w.now)
		w.slow.expire(w.now)
	case 11:
		w.rare(t, draw)
	}
	return pod
}

func (w *twins) rare(t testing.TB, draw func(n int) int) {
	switch draw(8) {
	case 0: // the list after a broken watch
		list := w.list(draw)
		_, _, _ = w.fast.Rebuild(list)
		w.slow.rebuild(list)
	case 1: // the clock jumps ahead
		w.now = w.now.Add(time.Duration(draw(200)) * time.Second)
	case 2: // the clock is set back
		w.now = w.now.Add(-time.Duration(draw(200)) * time.Second)
	case 3:
		w.fast.DropNode(nodeAt(draw(nodeCount)))
	case 4: // a restart: nothing is left but what the API lists
		w.check(t)
		w.fast, w.slow = newFast(t), newNaive()
		list := w.list(draw)
		_, _, _ = w.fast.Rebuild(list)
		w.slow.rebuild(list)
	case 5: // a failover: the standby knows the bound pods and what reports list
		w.failover(t)
	}
}

// list is the API's list of bound pods; it names some twice.
func (w *twins) list(draw func(n int) int) []reserve.BoundPod {
	var list []reserve.BoundPod
	for range draw(10) {
		list = append(list, reserve.BoundPod{Node: nodeAt(draw(nodeCount)), Pod: reserve.PodKey(draw(podCount)), Demand: 1})
	}
	return list
}

// failover moves both to a replica that has followed the API and the reports
// but saw none of the reservations.
func (w *twins) failover(t testing.TB) {
	w.check(t)
	fast, slow := newFast(t), newNaive()
	for pod := range reserve.PodKey(podCount) {
		p, ok := w.slow.pods[pod]
		if !ok {
			continue
		}
		if p.Absorbed {
			fast.Absorb(p.Node, []reserve.PodKey{pod}, w.now)
			slow.absorb(p.Node, []reserve.PodKey{pod}, w.now)
		}
		if p.Claim == reserve.Bound {
			_, err := fast.Bound(p.Node, pod, p.Demand)
			must(t, err)
			slow.bound(p.Node, pod, p.Demand)
		}
	}
	for i := range nodeCount {
		if got, most := fast.InFlight(nodeAt(i)), w.fast.InFlight(nodeAt(i)); got > most+1e-9 {
			t.Fatalf("node %s: the standby has %v in flight, the leader had %v", nodeAt(i), got, most)
		}
	}
	w.fast, w.slow = fast, slow
}

// check compares all nodes and pods.
func (w *twins) check(t testing.TB) {
	t.Helper()
	for i := range nodeCount {
		account := w.fast.Account(nodeAt(i))
		demand, pods := w.slow.inFlight(nodeAt(i))
		if got := account.InFlight(); math.Abs(got-demand) > 1e-9 || account.Pods() != pods {
			t.Fatalf("node %s: %v in flight in %d pods, want %v in %d; last steps %s", nodeAt(i), got, account.Pods(), demand, pods, w.tail())
		}
	}
	for pod := range reserve.PodKey(podCount) {
		w.checkPod(t, pod)
	}
}

func (w *twins) checkPod(t testing.TB, pod reserve.PodKey) {
	t.Helper()
	got, ok := w.fast.Pod(pod)
	want := w.slow.pods[pod]
	if ok != (want != nil) {
		t.Fatalf("pod %d known %v, want %v; last steps %s", pod, ok, want != nil, w.tail())
	}
	if ok && got != want.PodState {
		t.Fatalf("pod %d is %+v, want %+v; last steps %s", pod, got, want.PodState, w.tail())
	}
}

func (w *twins) tail() string {
	var text []string
	for i := range min(w.steps, len(w.last)) {
		text = append(text, fmt.Sprint(w.last[(w.steps-1-i)%len(w.last)]))
	}
	slices.Reverse(text)
	return strings.Join(text, "; ")
}

// drain ends everything and wants nothing left.
func (w *twins) drain(t testing.TB) {
	t.Helper()
	for pod := range reserve.PodKey(podCount) {
		w.fast.Delete(pod)
	}
	if got := w.fast.Census(); got != (reserve.Census{}) {
		t.Fatalf("left over: %+v", got)
	}
	for i := range nodeCount {
		if got := w.fast.Account(nodeAt(i)); got.InFlight() != 0 || got.Pods() != 0 {
			t.Fatalf("node %s: %v in flight in %d pods, want none", nodeAt(i), got.InFlight(), got.Pods())
		}
	}
}

// TestLedgerEqualsItsTwin takes a million steps. The pod of each is compared at
// once, everything at every 16th and before a restart or failover.
func TestLedgerEqualsItsTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	w := newTwins(t)
	for i := range 1_000_000 {
		w.checkPod(t, w.step(t, rng.IntN))
		if i%16 == 0 {
			w.check(t)
		}
	}
	w.check(t)
	w.drain(t)
}

func FuzzLedger(f *testing.F) {
	f.Add([]byte{0, 1, 0, 4, 9, 1, 0, 6})
	f.Add([]byte("a longer program of steps, drawn from text"))
	f.Fuzz(func(t *testing.T, program []byte) {
		w := newTwins(t)
		next := 0
		draw := func(n int) int {
			if next >= len(program) {
				return 0
			}
			next++
			return int(program[next-1]) % n
		}
		for next < len(program) {
			w.step(t, draw)
			w.check(t)
		}
		w.drain(t)
	})
}

func TestLedgerStory(t *testing.T) {
	const pod, node = reserve.PodKey(7), "n"
	l := &reserve.Ledger{}
	expect := func(step string, want float64) {
		t.Helper()
		if got := l.InFlight(node); got != want {
			t.Fatalf("%s: %v in flight, want %v", step, got, want)
		}
	}
	must(t, l.Reserve(node, pod, 1.5, epoch))
	expect("reserved", 1.5)
	l.Confirm(pod)
	_, err := l.Bound(node, pod, 1)
	must(t, err)
	expect("bound keeps its demand", 1.5)
	if l.Unreserve(node, pod) {
		t.Error("a bound pod was unreserved")
	}
	l.Expire(epoch.Add(time.Hour))
	expect("a bound pod has no time limit", 1.5)
	if got := l.Absorb(node, []reserve.PodKey{pod, 99}, epoch); got != 1 {
		t.Errorf("%d pods left flight, want 1", got)
	}
	expect("absorbed", 0)
	l.Absorb(node, nil, epoch)
	_, err = l.Bound(node, pod, 1)
	must(t, err)
	expect("its container ended; a late event comes", 0)
	if where, inFlight := l.Delete(pod); where != node || inFlight {
		t.Errorf("deleted from %q, in flight %v", where, inFlight)
	}
	if l.Confirm(pod) {
		t.Error("a bind's confirmation brought a deleted pod back")
	}
	expect("deleted", 0)
	_, err = l.Bound(node, 99, 1)
	must(t, err)
	expect("a report listed it before the API did", 0)
}

func TestLedgerTimeLimits(t *testing.T) {
	l, err := reserve.NewLedger(reserve.LedgerConfig{TTL: ttl, Linger: linger})
	must(t, err)
	must(t, l.Reserve("a", 1, 1, epoch))
	must(t, l.Reserve("b", 2, 1, epoch))
	must(t, l.Reserve("a", 1, 1, epoch.Add(ttl/2)))
	l.Absorb("a", []reserve.PodKey{3}, epoch)
	if got := l.Expire(epoch.Add(ttl - 1)); len(got) > 0 {
		t.Errorf("expired early: %v", got)
	}
	if diff := cmp.Diff([]string{"b"}, l.Expire(epoch.Add(ttl))); diff != "" {
		t.Errorf("expired (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(reserve.Census{Assumed: 1}, l.Census()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestLedgerRefusesWithoutChange(t *testing.T) {
	l := &reserve.Ledger{}
	_, err := l.Bound("a", 1, 1)
	must(t, err)
	before := l.Census()
	if err := l.Reserve("b", 1, 1, epoch); !errors.Is(err, reserve.ErrBoundElsewhere) {
		t.Errorf("reserve a pod bound elsewhere: %v", err)
	}
	for _, demand := range []float64{0, -1, math.NaN(), math.Inf(1), 2e6} {
		var field *reserve.FieldError
		if err := l.Reserve("a", 2, demand, epoch); !errors.As(err, &field) {
			t.Errorf("demand %v: %v", demand, err)
		}
		if _, err := l.Bound("a", 2, demand); !errors.As(err, &field) {
			t.Errorf("bound demand %v: %v", demand, err)
		}
		if _, _, err := l.Rebuild([]reserve.BoundPod{{Node: "a", Pod: 3, Demand: 1}, {Node: "a", Pod: 4, Demand: demand}}); !errors.As(err, &field) {
			t.Errorf("rebuild with demand %v: %v", demand, err)
		}
	}
	if got := l.Census(); got != before {
		t.Errorf("%+v, want %+v as before", got, before)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLedgerConcurrently(t *testing.T) {
	l, err := reserve.NewLedger(reserve.LedgerConfig{TTL: time.Hour, Linger: time.Hour})
	must(t, err)
	var work sync.WaitGroup
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				for i := range nodeCount {
					if got := l.InFlight(nodeAt(i)); got < 0 {
						t.Errorf("%v in flight", got)
						return
					}
				}
			}
		}()
	}
	for worker := range 4 {
		work.Add(1)
		go func() {
			defer work.Done()
			rng := rand.New(rand.NewPCG(uint64(worker), 7))
			for range 20_000 {
				// Workers share pods, so that their events interleave.
				pod, node := reserve.PodKey(rng.IntN(podCount)), nodeAt(rng.IntN(nodeCount))
				switch rng.IntN(6) {
				case 0:
					_ = l.Reserve(node, pod, .3, epoch)
				case 1:
					l.Unreserve(node, pod)
				case 2:
					_, _ = l.Bound(node, pod, .3)
				case 3:
					l.Absorb(node, []reserve.PodKey{pod, pod + 1}, epoch)
				case 4:
					l.Delete(pod)
				case 5:
					l.Expire(epoch)
					l.Census()
				}
			}
		}()
	}
	work.Wait()
	close(stop)
	readers.Wait()
	for pod := range reserve.PodKey(podCount + 1) {
		l.Delete(pod)
	}
	for i := range nodeCount {
		if got := l.InFlight(nodeAt(i)); got != 0 {
			t.Errorf("node %s: %v left in flight", nodeAt(i), got)
		}
	}
}

func TestReadsAllocateNothing(t *testing.T) {
	l := &reserve.Ledger{}
	must(t, l.Reserve("a", 1, 1, epoch))
	account := l.Account("a")
	sink := 0.
	signal := reserve.Signal{Avail: 5, Pods: 3, K: 2}
	raw, dst := []float64{1, 2, 3}, make([]int64, 3)
	if got := testing.AllocsPerRun(100, func() {
		sink += l.InFlight("a") + account.InFlight() + float64(account.Pods())
		sink += float64(reserve.Admit(signal, 1, 1, reserve.Rules{})) + float64(reserve.Slots(signal, 1, 1, reserve.Rules{}))
		sink += reserve.Score(2, 3, .1, reserve.Ranking{Blend: .3})
		_, _ = reserve.NormalizeTo(dst, raw)
		sink += float64(reserve.KeyOf("01234567-89ab-cdef-0123-456789abcdef"))
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
	if sink == 0 {
		t.Error("nothing was read")
	}
}

func BenchmarkLedger(b *testing.B) {
	for _, pods := range []int{30, 110} {
		b.Run(fmt.Sprintf("Absorb/pods=%d", pods), func(b *testing.B) {
			l := &reserve.Ledger{}
			list := make([]reserve.PodKey, pods)
			for i := range list {
				list[i] = reserve.PodKey(i)
				if _, err := l.Bound("a", list[i], 1); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				l.Absorb("a", list, epoch)
			}
		})
	}
	b.Run("ReserveDelete", func(b *testing.B) {
		l := &reserve.Ledger{}
		b.ReportAllocs()
		for b.Loop() {
			if err := l.Reserve("a", 1, 1, epoch); err != nil {
				b.Fatal(err)
			}
			l.Delete(1)
		}
	})
	b.Run("InFlight/nodes=5000", func(b *testing.B) {
		l := &reserve.Ledger{}
		names := make([]string, 5000)
		for i := range names {
			names[i] = fmt.Sprintf("node-%d", i)
			l.Account(names[i])
		}
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			l.InFlight(names[i%len(names)])
			i++
		}
	})
}

func BenchmarkAdmit(b *testing.B) {
	signal := reserve.Signal{Avail: 5, Pods: 3, K: 2}
	b.ReportAllocs()
	for b.Loop() {
		if reserve.Admit(signal, 1, 1, reserve.Rules{}) != reserve.Admitted {
			b.Fatal("refused")
		}
	}
}

func ExampleLedger() {
	ledger := &reserve.Ledger{}
	signal := reserve.Signal{Avail: 2}
	now := time.Now()
	for i := range 3 {
		inflight := ledger.InFlight("worker")
		if reason := reserve.Admit(signal, inflight, 1, reserve.Rules{}); reason != reserve.Admitted {
			fmt.Println("pod", i, reason)
			continue
		}
		if err := ledger.Reserve("worker", reserve.PodKey(i), 1, now); err != nil {
			fmt.Println(err)
		}
	}
	// The node's next report counts both pods and has room for no more.
	ledger.Absorb("worker", []reserve.PodKey{0, 1}, now)
	fmt.Println("in flight:", ledger.InFlight("worker"))
	// Output:
	// pod 2 no room
	// in flight: 0
}

func ExampleNormalizeTo() {
	free := []float64{3, 1.5, 0.4}
	raw := make([]float64, len(free))
	for i, f := range free {
		raw[i] = reserve.Score(f, 0, 0, reserve.Ranking{})
	}
	scores, err := reserve.NormalizeTo(nil, raw)
	fmt.Println(scores, err)
	// Output: [100 50 13] <nil>
}

func ExampleSlots() {
	signal := reserve.Signal{Avail: 8, Pods: 4}
	fmt.Println(reserve.Slots(signal, 0, 1, reserve.Rules{}), reserve.Slots(signal, 3, 1, reserve.Rules{}))
	// Output: 4 1
}

func ExampleKeyOf() {
	api, cgroup := reserve.KeyOf("3f1c0e52-9a7b-4c11-8f00-1a2b3c4d5e6f"), reserve.KeyOf("3f1c0e52_9a7b_4c11_8f00_1a2b3c4d5e6f")
	fmt.Printf("%x %v\n", uint64(api), api == cgroup)
	// Output: 3f1c0e529a7b4c11 true
}

func TestReasonsAreAll(t *testing.T) {
	if got := reserve.Reasons(); slices.Contains(got, reserve.Admitted) || len(got) != 4 {
		t.Errorf("reasons %v", got)
	}
	if got := reserve.Reason(99).String(); got != "reason 99" {
		t.Errorf("unknown reason prints %q", got)
	}
}
