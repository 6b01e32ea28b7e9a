package reserve_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
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
	ttl      = 100 * time.Second
	linger   = 10 * time.Second
	patience = 30 * time.Second
)

// naive is a reference ledger that keeps one record per pod and recomputes everything.
type naive struct {
	pods map[reserve.PodKey]*record
	// turns numbers claims and flights, so that the oldest is found.
	turns int
	nodes map[string]*naiveNode
	held  map[reserve.PodKey]held
}

// held is room held for a pod.
type held struct {
	node string
	pods float64
}

type record struct {
	reserve.PodState
	overdue bool
	// claimed and flying are the starts of the limits, with their turns.
	claimed, flying time.Time
	turn, flight    int
}

// naiveNode is the reports of a node.
type naiveNode struct {
	incarnation uint64
	listed      map[reserve.PodKey]bool
	left        []leaver
}

type leaver struct {
	pod reserve.PodKey
	at  time.Time
}

func newNaive() *naive {
	return &naive{pods: make(map[reserve.PodKey]*record), nodes: make(map[string]*naiveNode), held: make(map[reserve.PodKey]held)}
}

func (n *naive) node(name string) *naiveNode {
	if n.nodes[name] == nil {
		n.nodes[name] = &naiveNode{listed: make(map[reserve.PodKey]bool)}
	}
	return n.nodes[name]
}

// forget drops the leavers from the oldest on, up to the first within its limit: a clock that was set
// back delays the limits of later ones.
func (n *naiveNode) forget(now time.Time) {
	for len(n.left) > 0 && now.Sub(n.left[0].at) >= linger {
		n.left = n.left[1:]
	}
}

func (n *naive) turn() int { n.turns++; return n.turns }

func (n *naive) put(pod reserve.PodKey, s reserve.PodState, now time.Time) {
	node := n.node(s.Node)
	node.forget(now)
	s.Confirmed = node.listed[pod]
	for _, l := range node.left {
		s.Confirmed = s.Confirmed || l.pod == pod
	}
	n.pods[pod] = &record{PodState: s, claimed: now, flying: now, turn: n.turn(), flight: n.turn()}
	delete(n.held, pod)
}

func (n *naive) hold(node string, pod reserve.PodKey, pods float64) (changed bool) {
	now := held{node, pods}
	changed = n.held[pod] != now
	n.held[pod] = now
	delete(n.pods, pod)
	return changed
}

func (n *naive) delete(pod reserve.PodKey) (node string, inFlight bool) {
	if p := n.pods[pod]; p != nil {
		node, inFlight = p.Node, !p.Confirmed
	} else {
		node = n.held[pod].node
	}
	delete(n.pods, pod)
	delete(n.held, pod)
	return node, inFlight
}

func (n *naive) flight(node string) (f reserve.Flight, confirmed int) {
	for _, h := range n.held {
		if h.node == node {
			f.Held += h.pods
		}
	}
	for _, p := range n.pods {
		switch {
		case p.Node != node:
		case p.Confirmed:
			confirmed++
		default:
			asks := demandInPods(p.Demand)
			f.Demand += asks
			f.Cores += p.Demand.Cores
			if p.Progress == reserve.Stalled {
				f.Stalled += asks
			} else if p.overdue {
				f.Late += asks
			}
			if p.Demand.Amount == [2]float64{} {
				continue
			}
			f.Known.Pods++
			for i := range reserve.Resources {
				f.Known.Typical[i] += p.Demand.Typical[i]
				f.Known.Amount[i] += p.Demand.Amount[i]
				f.Known.Var[i] += p.Demand.Var[i]
			}
		}
	}
	return f, confirmed
}

// demandInPods returns a demand in pods: one if it is known.
func demandInPods(d reserve.Demand) float64 {
	if d.Amount != [2]float64{} {
		return 1
	}
	return d.Typical[0]
}

func (n *naive) updateDemand(pod reserve.PodKey, d reserve.Demand) (node string, changed bool) {
	p := n.pods[pod]
	if p == nil {
		return "", false
	}
	changed = p.Demand != d && !p.Confirmed
	p.Demand = d
	return p.Node, changed
}

func (n *naive) reserve(node string, pod reserve.PodKey, demand reserve.Demand, now time.Time) {
	p := n.pods[pod]
	switch {
	case p != nil && p.Claim == reserve.Bound:
	case p != nil && p.Confirmed && p.Node == node:
		p.claimed, p.turn = now, n.turn()
	default:
		n.put(pod, reserve.PodState{Node: node, Demand: demand, Claim: reserve.Assumed}, now)
	}
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

func (n *naive) bound(node string, pod reserve.PodKey, demand reserve.Demand, now time.Time) {
	if p := n.pods[pod]; p != nil && p.Node == node {
		p.Claim = reserve.Bound
		return
	}
	n.put(pod, reserve.PodState{Node: node, Demand: demand, Claim: reserve.Bound}, now)
}

func (n *naive) progress(pod reserve.PodKey, to reserve.Progress) {
	p := n.pods[pod]
	if p == nil || p.Progress == reserve.Ended {
		return
	}
	p.Progress = to
	if to == reserve.Ended {
		p.Confirmed, p.overdue = true, false
	}
}

func (n *naive) absorb(name string, incarnation uint64, pods []reserve.PodKey, now time.Time) {
	node := n.node(name)
	same := node.incarnation == incarnation
	before, after := node.listed, make(map[reserve.PodKey]bool)
	for _, pod := range pods {
		after[pod] = true
	}
	if same && maps.Equal(before, after) {
		return
	}
	node.incarnation, node.listed = incarnation, after
	node.forget(now)
	for pod := range reserve.PodKey(podCount) {
		p := n.pods[pod]
		switch {
		case after[pod] && p != nil && p.Node == name:
			p.Confirmed, p.overdue = true, false
		case after[pod] || !before[pod]:
		case p == nil:
			node.left = append(node.left, leaver{pod, now})
		case p.Node == name && p.Confirmed && same && (p.Progress == reserve.Initializing || p.Progress == reserve.Stalled):
			p.Confirmed, p.flying, p.flight = false, now, n.turn()
		}
	}
}

// expire checks each limit's pods oldest first and stops at the first within it, as forget does.
func (n *naive) expire(now time.Time) {
	for _, pod := range n.oldest(func(p *record) (int, bool) { return p.turn, p.Claim == reserve.Assumed }) {
		if now.Sub(n.pods[pod].claimed) < ttl {
			break
		}
		delete(n.pods, pod)
	}
	for _, pod := range n.oldest(func(p *record) (int, bool) { return p.flight, !p.Confirmed && !p.overdue }) {
		if now.Sub(n.pods[pod].flying) < patience {
			break
		}
		n.pods[pod].overdue = true
	}
	for _, node := range n.nodes {
		node.forget(now)
	}
}

// oldest returns the pods of a limit by their turns.
func (n *naive) oldest(watched func(*record) (turn int, ok bool)) []reserve.PodKey {
	var pods []reserve.PodKey
	for pod, p := range n.pods {
		if _, ok := watched(p); ok {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b reserve.PodKey) int {
		i, _ := watched(n.pods[a])
		j, _ := watched(n.pods[b])
		return i - j
	})
	return pods
}

// twins is a ledger, its reference, and the last steps of both.
type twins struct {
	fast     *reserve.Ledger
	accounts [nodeCount]*reserve.Account
	slow     *naive
	now      time.Time
	steps    int
	last     [12]event
}

type event struct {
	what   int
	node   string
	pod    reserve.PodKey
	demand reserve.Demand
}

func newTwins(t testing.TB) *twins {
	w := &twins{now: epoch}
	w.restart(t)
	return w
}

// restart clears both.
func (w *twins) restart(t testing.TB) {
	fast := reserve.NewLimitedLedger(ttl, linger, patience)
	w.fast, w.slow = fast, newNaive()
	for i := range w.accounts {
		w.accounts[i] = fast.Account(nodeAt(i))
	}
}

const nodeCount, podCount = 4, 24

// one is a typical pod, pods n of them.
var one = reserve.TypicalPod()

func pods(n float64) reserve.Demand { return reserve.Demand{Typical: [2]float64{n, n}} }

// demands are typical and known pods, in whole units.
var demands = []reserve.Demand{
	one, pods(.1), pods(2.5),
	{Typical: [2]float64{1, 1}, Cores: 1.5},
	{Typical: [2]float64{0, 1}, Amount: [2]float64{.125, 0}, Var: [2]float64{.000_001, 0}},
	{Typical: [2]float64{1, .5}, Amount: [2]float64{0, 12345}, Var: [2]float64{0, 1 << 45}, Cores: .000_001},
	{Typical: [2]float64{0, .125}, Amount: [2]float64{64, 1 << 40}, Var: [2]float64{1024, 1 << 78}, Cores: 64},
	{Typical: [2]float64{.25, 0}, Amount: [2]float64{.5, 3 << 30}, Var: [2]float64{.0625, 1 << 58}, Cores: .25},
}

func nodeAt(i int) string { return string(rune('a' + i%nodeCount)) }

// step makes one random step in both, with numbers from draw, and returns its pod.
func (w *twins) step(t testing.TB, draw func(n int) int) reserve.PodKey {
	node, pod := nodeAt(draw(nodeCount)), reserve.PodKey(draw(podCount))
	demand := demands[draw(len(demands))]
	what := draw(15)
	w.last[w.steps%len(w.last)] = event{what, node, pod, demand}
	w.steps++
	switch what {
	case 0, 1:
		_ = w.fast.Reserve(node, pod, demand, w.now)
		w.slow.reserve(node, pod, demand, w.now)
	case 2:
		w.fast.Unreserve(node, pod)
		w.slow.unreserve(node, pod)
	case 3:
		w.fast.MarkBound(pod)
		w.slow.confirm(pod)
	case 4, 5:
		_, _ = w.fast.Bound(node, pod, demand, w.now)
		w.slow.bound(node, pod, demand, w.now)
	case 6, 7: // a tombstone may repeat a deletion or be of an unknown pod
		for range 1 + draw(2) {
			node, inFlight := w.fast.Delete(pod, w.now)
			if wantNode, want := w.slow.delete(pod); node != wantNode || inFlight != want {
				t.Fatalf("delete pod %d: got %q, %v, want %q, %v; last steps %s", pod, node, inFlight, wantNode, want, w.tail())
			}
		}
	case 8:
		to := reserve.Progress(draw(4))
		w.fast.Progress(pod, to)
		w.slow.progress(pod, to)
	case 9:
		list := make([]reserve.PodKey, draw(8))
		for i := range list {
			list[i] = reserve.PodKey(draw(podCount))
		}
		incarnation := uint64(1 + draw(8)/7)
		for range 1 + draw(2) { // most reports repeat the last
			w.fast.Confirm(node, incarnation, list, w.now)
			w.slow.absorb(node, incarnation, list, w.now)
		}
	case 10:
		w.now = w.now.Add(time.Duration(draw(5)) * time.Second)
		w.fast.Expire(w.now)
		w.slow.expire(w.now)
	case 11:
		w.rare(t, draw)
	case 12:
		node, changed, err := w.fast.UpdateDemand(pod, demand)
		must(t, err)
		if wantNode, want := w.slow.updateDemand(pod, demand); node != wantNode || changed != want {
			t.Fatalf("update demand of pod %d: got %q, %v, want %q, %v; last steps %s", pod, node, changed, wantNode, want, w.tail())
		}
	case 13, 14:
		pods := []float64{1, .1, 2.5, .000_001, 1e6}[draw(5)]
		changed, err := w.fast.Hold(node, pod, pods)
		must(t, err)
		if want := w.slow.hold(node, pod, pods); changed != want {
			t.Fatalf("hold %v for pod %d on %s: got changed %v, want %v; last steps %s", pods, pod, node, changed, want, w.tail())
		}
	}
	return pod
}

func (w *twins) rare(t testing.TB, draw func(n int) int) {
	switch draw(8) {
	case 0, 1: // the clock jumps ahead
		w.now = w.now.Add(time.Duration(draw(200)) * time.Second)
	case 2: // the clock is set back
		w.now = w.now.Add(-time.Duration(draw(200)) * time.Second)
	case 3: // a node is recreated: its reports are forgotten, its pods are not
		w.recreate(draw(nodeCount))
	case 4: // a restart: only what the API lists remains
		w.check(t)
		w.restart(t)
		for range draw(10) {
			node, pod := nodeAt(draw(nodeCount)), reserve.PodKey(draw(podCount))
			demand := demands[draw(len(demands))]
			_, _ = w.fast.Bound(node, pod, demand, w.now)
			w.slow.bound(node, pod, demand, w.now)
		}
	case 5: // a failover: the standby has the bound pods and the reports
		w.failover(t)
	}
}

// recreate releases a node's account and takes it again.
func (w *twins) recreate(i int) {
	w.fast.Release(w.accounts[i])
	w.accounts[i] = w.fast.Account(nodeAt(i))
	for _, p := range w.slow.pods {
		if p.Node == nodeAt(i) {
			return
		}
	}
	for _, h := range w.slow.held {
		if h.node == nodeAt(i) {
			return
		}
	}
	delete(w.slow.nodes, nodeAt(i))
}

// failover replaces both by a replica that has followed the API and the reports but none of the
// reservations.
func (w *twins) failover(t testing.TB) {
	w.check(t)
	fast, slow, accounts := w.fast, w.slow, w.accounts
	w.restart(t)
	for name, node := range slow.nodes {
		list := slices.Sorted(maps.Keys(node.listed))
		w.fast.Confirm(name, node.incarnation, list, w.now)
		w.slow.absorb(name, node.incarnation, list, w.now)
	}
	for pod := range reserve.PodKey(podCount) {
		if p := slow.pods[pod]; p != nil && p.Claim == reserve.Bound {
			_, err := w.fast.Bound(p.Node, pod, p.Demand, w.now)
			must(t, err)
			w.slow.bound(p.Node, pod, p.Demand, w.now)
			w.fast.Progress(pod, p.Progress)
			w.slow.progress(pod, p.Progress)
		}
		if h, ok := slow.held[pod]; ok {
			_, err := w.fast.Hold(h.node, pod, h.pods)
			must(t, err)
			w.slow.hold(h.node, pod, h.pods)
		}
	}
	for pod := range reserve.PodKey(podCount) {
		fast.Delete(pod, w.now)
	}
	for _, a := range accounts {
		fast.Release(a)
	}
	if got := fast.Census(); got != (reserve.Census{}) {
		t.Fatalf("the leader's ledger keeps %+v of an empty cluster", got)
	}
}

// check compares all nodes and pods.
func (w *twins) check(t testing.TB) {
	t.Helper()
	for i, account := range w.accounts {
		f, confirmed := w.slow.flight(nodeAt(i))
		got := account.Flight()
		if !near(got, f) || account.Confirmed() != confirmed {
			t.Fatalf("node %s: got %+v in flight, %d confirmed; want %+v, %d; last steps %s",
				nodeAt(i), got, account.Confirmed(), f, confirmed, w.tail())
		}
	}
	for pod := range reserve.PodKey(podCount) {
		w.checkPod(t, pod)
	}
	if got := w.fast.Census().Held; got != len(w.slow.held) {
		t.Fatalf("got room held for %d pods, want %d; last steps %s", got, len(w.slow.held), w.tail())
	}
}

// near reports whether two flights differ only by rounding.
func near(a, b reserve.Flight) bool {
	numbers := func(f reserve.Flight) [12]float64 {
		k := f.Known
		return [12]float64{
			f.Demand, f.Held, f.Stalled, f.Late, f.Cores, k.Pods, k.Typical[0], k.Typical[1], k.Amount[0], k.Amount[1], k.Var[0], k.Var[1],
		}
	}
	x, y := numbers(a), numbers(b)
	for i := range x {
		if math.Abs(x[i]-y[i]) > 1e-9+1e-12*math.Abs(y[i]) {
			return false
		}
	}
	return true
}

func (w *twins) checkPod(t testing.TB, pod reserve.PodKey) {
	t.Helper()
	got, ok := w.fast.Pod(pod)
	want := w.slow.pods[pod]
	if ok != (want != nil) {
		t.Fatalf("pod %d: got known %v, want %v; last steps %s", pod, ok, want != nil, w.tail())
	}
	if ok && got != want.PodState {
		t.Fatalf("pod %d: got %+v, want %+v; last steps %s", pod, got, want.PodState, w.tail())
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

// drain ends everything and expects nothing to remain, nor rounding errors in the sum of a single
// remaining pod.
func (w *twins) drain(t testing.TB) {
	t.Helper()
	for pod := range reserve.PodKey(podCount) {
		w.fast.Delete(pod, w.now)
	}
	for i, account := range w.accounts {
		must(t, w.fast.Reserve(nodeAt(i), podCount, demands[len(demands)-1], w.now))
		want := reserve.Flight{Demand: 1, Cores: .25, Known: reserve.Known{
			Pods: 1, Typical: [2]float64{.25, 0}, Amount: [2]float64{.5, 3 << 30}, Var: [2]float64{.0625, 1 << 58},
		}}
		if got := account.Flight(); got != want {
			t.Fatalf("one pod in flight: got demand %+v, want %+v", got, want)
		}
		w.fast.Delete(podCount, w.now)
	}
	for i, account := range w.accounts {
		if account.Flight() != (reserve.Flight{}) || account.Flight().Held != 0 || account.Flight().Cores != 0 || account.Confirmed() != 0 {
			t.Fatalf("node %s: got %+v in flight, %d confirmed, want none", nodeAt(i), account.Flight(), account.Confirmed())
		}
		w.fast.Release(account)
	}
	if got := w.fast.Census(); got != (reserve.Census{}) {
		t.Fatalf("got remaining %+v", got)
	}
}

// TestModelOfTheLedger makes a million steps, a twentieth in short runs. Each step's pod is compared at
// once, everything at every 16th step and before a restart or failover.
func TestModelOfTheLedger(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	w, steps := newTwins(t), 1_000_000
	if testing.Short() {
		steps /= 50
	}
	for i := range steps {
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
	account := l.Account(node)
	expect := func(step string, want float64) {
		t.Helper()
		if got := account.Flight().Demand; got != want {
			t.Fatalf("%s: got %v in flight, want %v", step, got, want)
		}
	}
	must(t, l.Reserve(node, pod, pods(1.5), epoch))
	expect("reserved", 1.5)
	l.MarkBound(pod)
	_, err := l.Bound(node, pod, one, epoch)
	must(t, err)
	expect("bound keeps its demand", 1.5)
	if l.Unreserve(node, pod) {
		t.Error("a bound pod was unreserved")
	}
	l.Expire(epoch.Add(time.Hour))
	expect("a bound pod has no time limit", 1.5)
	if got := l.Confirm(node, 1, []reserve.PodKey{pod, 99}, epoch); len(got) != 1 {
		t.Errorf("got %v that left flight, want 1", got)
	}
	expect("absorbed", 0)
	l.Confirm(node, 1, nil, epoch)
	_, err = l.Bound(node, pod, one, epoch)
	must(t, err)
	expect("its container ended; a late event comes", 0)
	if where, inFlight := l.Delete(pod, epoch); where != node || inFlight {
		t.Errorf("got deletion from %q, in flight %v", where, inFlight)
	}
	if l.MarkBound(pod) {
		t.Error("the confirmation of a bind restored a deleted pod")
	}
	expect("deleted", 0)
	entered, err := l.Bound(node, 99, one, epoch)
	must(t, err)
	if entered {
		t.Error("a pod that a report listed before the API did entered flight")
	}
	expect("a report listed it before the API did", 0)
}

func TestLedgerTimeLimits(t *testing.T) {
	l := reserve.NewLimitedLedger(ttl, linger, patience)
	a, b := l.Account("a"), l.Account("b")
	must(t, l.Reserve("a", 1, one, epoch))
	must(t, l.Reserve("b", 2, one, epoch))
	must(t, l.Reserve("a", 1, one, epoch.Add(ttl/2)))
	if dropped, overdue := l.Expire(epoch.Add(patience - 1)); len(dropped)+len(overdue) > 0 {
		t.Errorf("limits expired early: %v, %v", dropped, overdue)
	}
	if dropped, overdue := l.Expire(epoch.Add(ttl - 1)); len(dropped) > 0 || !slices.Equal(overdue, []string{"b", "a"}) {
		t.Errorf("got dropped %v, overdue %v, want none and both", dropped, overdue)
	}
	if got, want := b.Flight(), (reserve.Flight{Demand: 1, Late: 1}); got != want {
		t.Errorf("b's flight %+v, want %+v", got, want)
	}
	if dropped, overdue := l.Expire(epoch.Add(ttl)); len(overdue) > 0 || !slices.Equal(dropped, []string{"b"}) {
		t.Errorf("got dropped %v, overdue %v, want b only, and none twice", dropped, overdue)
	}
	if diff := cmp.Diff(reserve.Census{Assumed: 1}, l.Census()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	// Listed pods are never forgotten, and others after linger.
	l.Confirm("a", 1, []reserve.PodKey{3, 4}, epoch)
	l.Confirm("a", 1, []reserve.PodKey{3}, epoch)
	for _, at := range []time.Duration{linger - 1, linger} {
		l.Expire(epoch.Add(at))
		want := reserve.Census{Assumed: 1, Unclaimed: 2}
		if at == linger {
			want.Unclaimed = 1
		}
		if diff := cmp.Diff(want, l.Census()); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", at, diff)
		}
	}
	must(t, l.Reserve("a", 3, one, epoch))
	must(t, l.Reserve("a", 4, one, epoch))
	if got := a.Flight().Demand; got != 2 {
		t.Errorf("got %v in flight on a, want pods 1 and 4", got)
	}
}

// TestStalledPodsLeaveSlowStart: their demand stays reserved.
func TestStalledPodsLeaveSlowStart(t *testing.T) {
	const pods = 6
	l := &reserve.Ledger{}
	a := l.Account("n")
	signal := reserve.Signal{Avail: 8}
	for pod := range reserve.PodKey(pods) {
		if got := reserve.Fits(signal, a.Flight(), one, reserve.Rules{}); got != reserve.Admitted {
			t.Fatalf("pod %d: %v", pod, got)
		}
		must(t, l.Reserve("n", pod, one, epoch))
		_, err := l.Bound("n", pod, one, epoch)
		must(t, err)
		if !l.Progress(pod, reserve.Stalled) || l.Progress(pod, reserve.Stalled) {
			t.Errorf("pod %d stalled, then again: the flight should have changed once", pod)
		}
	}
	if got, want := a.Flight(), (reserve.Flight{Demand: pods, Stalled: pods, Silent: pods}); got != want {
		t.Errorf("flight %+v, want %+v", got, want)
	}
	if got := reserve.Slots(signal, a.Flight(), one, reserve.Rules{}); got != 2 {
		t.Errorf("got %d slots beside %d stalled pods with room for 8, want 2", got, pods)
	}
	// The image becomes available.
	if !l.Progress(0, reserve.Starting) || a.Flight().Stalled != pods-1 {
		t.Errorf("got flight %+v after one pod continues", a.Flight())
	}
	l.Confirm("n", 1, []reserve.PodKey{0, 1}, epoch)
	if got, want := a.Flight(), (reserve.Flight{Demand: pods - 2, Stalled: pods - 2, Silent: pods - 2}); got != want {
		t.Errorf("got flight %+v after two run, want %+v", got, want)
	}
}

// TestOverduePodsLeaveSlowStart, even if the API has no reason.
func TestOverduePodsLeaveSlowStart(t *testing.T) {
	l := &reserve.Ledger{}
	a := l.Account("n")
	must(t, l.Reserve("n", 1, one, epoch))
	_, err := l.Bound("n", 2, one, epoch)
	must(t, err)
	signal := reserve.Signal{Avail: 8}
	l.Expire(epoch.Add(2*time.Minute - 1))
	if got := reserve.Fits(signal, a.Flight(), one, reserve.Rules{}); got != reserve.SlowStart {
		t.Errorf("before they are overdue: got %v", got)
	}
	l.Expire(epoch.Add(2 * time.Minute))
	verdict := judge(signal, a.Flight(), one, reserve.Rules{})
	if want := (reserve.Verdict{Reported: reserve.Admitted, Unseen: reserve.SlowStart}); verdict != want {
		t.Errorf("overdue: got %+v, want %+v, since without reports they may be running", verdict, want)
	}
	if got := a.Flight().Demand; got != 2 {
		t.Errorf("got %v in flight, want 2", got)
	}
	l.Confirm("n", 1, []reserve.PodKey{1, 2}, epoch)
	if got := a.Flight(); got != (reserve.Flight{}) {
		t.Errorf("got flight %+v after they started", got)
	}
}

// TestStalledPodsOfASilentNode: the API alone shows that they do not run.
func TestStalledPodsOfASilentNode(t *testing.T) {
	for stalled, want := range map[float64]reserve.Reason{0: reserve.SlowStart, 1: reserve.SlowStart, 2: reserve.Admitted} {
		got := judge(reserve.Signal{}, reserve.Flight{Demand: 3, Stalled: stalled}, one, reserve.Rules{})
		if got.Unseen != want {
			t.Errorf("3 in flight, %v of them stalled: got %v, want %v", stalled, got.Unseen, want)
		}
	}
}

// TestPodBetweenItsInitContainers is listed while one runs and not in between: it is still starting.
func TestPodBetweenItsInitContainers(t *testing.T) {
	for _, test := range []struct {
		name        string
		progress    reserve.Progress
		incarnation uint64
		want        float64
	}{
		{"between init containers", reserve.Initializing, 1, 1},
		{"a failing init container", reserve.Stalled, 1, 1},
		{"ended, the API is late", reserve.Starting, 1, 0},
		{"between two crashes", reserve.Ended, 1, 0},
		{"not found yet by a restarted agent", reserve.Initializing, 2, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := &reserve.Ledger{}
			a := l.Account("n")
			_, err := l.Bound("n", 1, one, epoch)
			must(t, err)
			l.Progress(1, test.progress)
			l.Confirm("n", 1, []reserve.PodKey{1}, epoch)
			if a.Flight().Demand != 0 {
				t.Fatal("a listed pod is in flight")
			}
			l.Confirm("n", test.incarnation, nil, epoch)
			if got := a.Flight().Demand; got != test.want {
				t.Errorf("no longer listed: got %v in flight, want %v", got, test.want)
			}
			l.Confirm("n", test.incarnation, []reserve.PodKey{1}, epoch)
			if got := a.Flight().Demand; got != 0 {
				t.Errorf("listed again: got %v in flight", got)
			}
			if l.Delete(1, epoch); a.Flight().Demand != 0 || a.Confirmed() != 0 {
				t.Errorf("got remaining %v in flight, %d confirmed", a.Flight().Demand, a.Confirmed())
			}
		})
	}
}

// TestSlowStartUsesWhatTheLedgerSaw: a report alone cannot raise the limit.
func TestSlowStartUsesWhatTheLedgerSaw(t *testing.T) {
	l := &reserve.Ledger{}
	a := l.Account("n")
	boast := reserve.Signal{Avail: 500, Pods: 400, Allowance: 300}
	list := make([]reserve.PodKey, 400)
	for i := range list {
		list[i] = reserve.PodKey(i)
	}
	l.Confirm("n", 1, list, epoch)
	if got, want := a.Cap(boast, epoch), (reserve.Signal{Avail: 500}); got != want {
		t.Errorf("capped %+v, want %+v", got, want)
	}
	for _, pod := range list[:6] {
		_, err := l.Bound("n", pod, one, epoch)
		must(t, err)
	}
	_, err := l.Bound("n", 1000, one, epoch) // in flight
	must(t, err)
	for _, pod := range list[:4] {
		l.Delete(pod, epoch)
	}
	l.Delete(1000, epoch)
	for _, test := range []struct {
		after     time.Duration
		allowance float64
	}{{0, 4}, {time.Minute, 2}, {-time.Hour, 4}, {3 * time.Minute, .5}} {
		want := reserve.Signal{Avail: 500, Pods: 2, Allowance: test.allowance}
		if got := a.Cap(boast, epoch.Add(test.after)); got != want {
			t.Errorf("%v after four ended and two run: got %+v, want %+v", test.after, got, want)
		}
	}
	humble := reserve.Signal{Avail: 3, Pods: 1, Allowance: 1.5, K: 2, Saturated: true}
	if got := a.Cap(humble, epoch); got != humble {
		t.Errorf("%+v became %+v", humble, got)
	}
}

// TestReportsCostNoMemory: a node may list any keys, any number of times. A listed pod is still
// confirmed when it is bound.
func TestReportsCostNoMemory(t *testing.T) {
	const most, rounds = 4096, 200
	l := &reserve.Ledger{}
	a := l.Account("n")
	list := make([]reserve.PodKey, most)
	fresh := func(round int) []reserve.PodKey {
		for i := range list {
			list[i] = reserve.PodKey(round*most + i)
		}
		return list
	}
	var used [2]runtime.MemStats
	for round := range rounds {
		if round == rounds/10 {
			runtime.GC()
			runtime.ReadMemStats(&used[0])
		}
		now := epoch.Add(time.Duration(round) * 50 * time.Millisecond)
		l.Confirm("n", 1, fresh(round), now)
		l.Expire(now)
	}
	runtime.GC()
	runtime.ReadMemStats(&used[1])
	if grown := int64(used[1].HeapAlloc) - int64(used[0].HeapAlloc); grown > 1<<20 {
		t.Errorf("%d further lists of %d new keys: got %d bytes", rounds*9/10, most, grown)
	}
	if got := l.Census().Unclaimed; got < most || got > 2*most {
		t.Errorf("got %d remembered pods, want the %d of the newest list and not many more", got, most)
	}
	for _, pod := range []reserve.PodKey{rounds*most - 1, rounds*most - most, rounds*most - most - 1} {
		if entered, err := l.Bound("n", pod, one, epoch); entered || err != nil {
			t.Errorf("pod %d, listed before it was bound, entered flight: %v", pod, err)
		}
	}
	if entered, _ := l.Bound("n", 5, one, epoch); !entered || a.Flight().Demand != 1 {
		t.Error("a pod listed 200 reports ago still counts as running")
	}
}

// TestUnchangedReportsCostLittle: no allocation, and no use of the ledger's lock.
func TestUnchangedReportsCostLittle(t *testing.T) {
	l := &reserve.Ledger{}
	l.Account("n")
	list := []reserve.PodKey{5, 3, 9}
	slices.Sort(list)
	l.Confirm("n", 1, list, epoch)
	if got := testing.AllocsPerRun(100, func() { l.Confirm("n", 1, list, epoch) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
	// A pod that is bound between two equal reports is confirmed as well.
	if entered, err := l.Bound("n", 5, one, epoch); entered || err != nil {
		t.Errorf("entered flight: %v", err)
	}
	list[0] = 4 // the ledger keeps no reference to its argument
	if entered, err := l.Bound("n", 3, one, epoch); entered || err != nil {
		t.Errorf("entered flight: %v", err)
	}
}

// TestListsNeedNoOrder and may have duplicates.
func TestListsNeedNoOrder(t *testing.T) {
	l := &reserve.Ledger{}
	a := l.Account("n")
	list := []reserve.PodKey{9, 2, 2, 7}
	for _, pod := range []reserve.PodKey{2, 7, 9} {
		must(t, l.Reserve("n", pod, one, epoch))
	}
	if got := l.Confirm("n", 1, list, epoch); len(got) != 3 || a.Flight().Demand != 0 {
		t.Errorf("got %v that left flight, %v in it", got, a.Flight().Demand)
	}
	if diff := cmp.Diff([]reserve.PodKey{9, 2, 2, 7}, list); diff != "" {
		t.Errorf("the list was changed (-want +got):\n%s", diff)
	}
}

// TestUnknownNodesLeaveNothing: a pod may name any node.
func TestUnknownNodesLeaveNothing(t *testing.T) {
	l := &reserve.Ledger{}
	_, err := l.Bound("placeholder", 1, one, epoch)
	must(t, err)
	if l.Confirm("stranger", 1, []reserve.PodKey{2}, epoch); l.Census() != (reserve.Census{Bound: 1}) {
		t.Errorf("got census %+v: a node without an account has no reports", l.Census())
	}
	l.Confirm("placeholder", 1, []reserve.PodKey{1}, epoch)
	if got := l.InFlight("placeholder"); got != 1 {
		t.Errorf("got %v in flight to a node without an account, want 1 whatever it reports", got)
	}
	// The node appears, and is deleted before its pod.
	a := l.Account("placeholder")
	if a.Flight().Demand != 1 {
		t.Errorf("when the node appears: got %v in flight", a.Flight().Demand)
	}
	b := l.Account("placeholder")
	l.Release(a)
	if b != a || b.Flight().Demand != 1 {
		t.Errorf("two holders: got two accounts, or %v in flight", b.Flight().Demand)
	}
	l.Release(b)
	if got := l.InFlight("placeholder"); got != 1 {
		t.Errorf("after the node's deletion: got %v in flight, want 1 until its pod is deleted", got)
	}
	l.Delete(1, epoch)
	if c := l.Account("placeholder"); c == a {
		t.Error("the account of a deleted node without pods is kept")
	}
}

func TestLedgerRefusesWithoutChange(t *testing.T) {
	l := &reserve.Ledger{}
	_, err := l.Bound("a", 1, one, epoch)
	must(t, err)
	before := l.Census()
	if err := l.Reserve("b", 1, one, epoch); !errors.Is(err, reserve.ErrBoundElsewhere) {
		t.Errorf("reserve a pod bound elsewhere: got error %v", err)
	}
	for _, demand := range []float64{0, -1, math.NaN(), math.Inf(1), math.Nextafter(1e6, 2e6)} {
		_, bound := l.Bound("a", 2, pods(demand), epoch)
		for _, err := range []error{l.Reserve("a", 2, pods(demand), epoch), bound} {
			if !names(err, "Demand.Typical[cpu]") || !errors.Is(err, reserve.ErrInvalid) {
				t.Errorf("demand %v: %v", demand, err)
			}
		}
	}
	if got := l.Census(); got != before {
		t.Errorf("got %+v, want %+v as before", got, before)
	}
	must(t, l.Reserve("a", 2, pods(1e6), epoch))
}

func TestCensus(t *testing.T) {
	l := &reserve.Ledger{}
	l.Account("a")
	must(t, l.Reserve("a", 1, one, epoch))
	for pod := reserve.PodKey(2); pod < 6; pod++ {
		_, err := l.Bound("a", pod, one, epoch)
		must(t, err)
	}
	l.Confirm("a", 1, []reserve.PodKey{3, 4, 5, 8, 9}, epoch)
	l.Confirm("a", 1, []reserve.PodKey{3, 9}, epoch)
	l.Confirm("a", 1, []reserve.PodKey{3, 8, 9}, epoch) // 8 is listed again
	if diff := cmp.Diff(reserve.Census{Assumed: 1, Bound: 1, Confirmed: 3, Unclaimed: 2}, l.Census()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLedgerConcurrently(t *testing.T) {
	l := reserve.NewLimitedLedger(time.Hour, time.Hour, 0)
	var accounts []*reserve.Account
	for i := range nodeCount {
		accounts = append(accounts, l.Account(nodeAt(i)))
	}
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
				for i, a := range accounts {
					if got := l.InFlight(nodeAt(i)); got < 0 || a.Flight().Held < 0 || a.Cap(reserve.Signal{Allowance: 1}, epoch).Allowance < 0 {
						t.Errorf("got %v in flight", got)
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
				switch rng.IntN(8) {
				case 7:
					_, _ = l.Hold(node, pod, .3)
				case 0:
					_ = l.Reserve(node, pod, pods(.3), epoch)
				case 1:
					l.Unreserve(node, pod)
				case 2:
					_, _ = l.Bound(node, pod, pods(.3), epoch)
				case 3:
					l.Confirm(node, 1, []reserve.PodKey{pod, pod + 1}, epoch)
				case 4:
					l.Delete(pod, epoch)
				case 5:
					l.Expire(epoch)
					l.Census()
				case 6:
					l.Progress(pod, reserve.Progress(rng.IntN(4)))
					l.Release(l.Account(node))
				}
			}
		}()
	}
	work.Wait()
	close(stop)
	readers.Wait()
	for pod := range reserve.PodKey(podCount + 1) {
		l.Delete(pod, epoch)
	}
	for i := range nodeCount {
		if got := l.InFlight(nodeAt(i)) + accounts[i].Flight().Held; got != 0 {
			t.Errorf("node %s: got %v still in flight or held", nodeAt(i), got)
		}
	}
}

func TestReadsAllocateNothing(t *testing.T) {
	l := &reserve.Ledger{}
	must(t, l.Reserve("a", 1, one, epoch))
	account := l.Account("a")
	sink := 0.
	signal := reserve.Signal{Avail: 5, Pods: 3, K: 2}
	fresh := reserve.Freshness{}
	raw, dst := []float64{1, 2, 3}, make([]int64, 3)
	if got := testing.AllocsPerRun(100, func() {
		sink += account.Flight().Demand + account.Flight().Held + account.Cap(signal, epoch).Avail
		flight := account.Flight()
		sink += float64(reserve.Fits(signal, flight, one, reserve.Rules{})) + float64(reserve.Slots(signal, flight, one, reserve.Rules{}))
		sink += float64(fresh.Slots(fresh.Reported(0), reserve.Moment{Now: time.Hour}, signal, flight, one, reserve.Rules{}))
		sink += reserve.Score(2, 3, 4, .1, reserve.Ranking{Blend: .3, Energy: .2}) + account.Flight().Cores
		dst = reserve.NormalizeTo(dst, raw)
		sink += float64(reserve.KeyOf("01234567-89ab-cdef-0123-456789abcdef"))
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
	if sink == 0 {
		t.Error("nothing was read")
	}
}

// TestConfirmations: the time in flight is returned once per pod, from its reservation, for reserved
// pods only, and not for one that is in flight again.
func TestConfirmations(t *testing.T) {
	const reserved, bound = reserve.PodKey(1), reserve.PodKey(2)
	var l reserve.Ledger
	l.Account("n")
	at := func(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
	must(t, l.Reserve("n", reserved, one, at(1)))
	l.Progress(reserved, reserve.Initializing)
	l.MarkBound(reserved)
	_, err := l.Bound("n", bound, one, at(2))
	must(t, err)
	for i, step := range []struct {
		second int
		lists  []reserve.PodKey
		want   []reserve.Confirmation
	}{
		{3, nil, nil},
		{4, []reserve.PodKey{reserved}, []reserve.Confirmation{{Pod: reserved, InFlightFor: 3 * time.Second, Reserved: true}}},
		{5, []reserve.PodKey{reserved, bound}, []reserve.Confirmation{{Pod: bound, InFlightFor: 3 * time.Second}}},
		{6, []reserve.PodKey{reserved, bound}, nil},
		{7, []reserve.PodKey{bound}, nil}, // between two init containers
		{9, []reserve.PodKey{reserved, bound}, []reserve.Confirmation{{Pod: reserved, InFlightFor: 2 * time.Second}}},
	} {
		if diff := cmp.Diff(step.want, l.Confirm("n", 1, step.lists, at(step.second))); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

// BenchmarkConfirm has the accounts and lists of a whole cluster, so that none stays in the processor's
// cache: the same list again and again is unrealistic. changed is a report in which one pod in thirty
// differs.
func BenchmarkConfirm(b *testing.B) {
	const pods = 30
	for _, nodes := range []int{1, 5000} {
		for _, changed := range []bool{false, true} {
			b.Run(fmt.Sprintf("nodes=%d/pods=%d/changed=%v", nodes, pods, changed), func(b *testing.B) {
				l := &reserve.Ledger{}
				names, lists := make([]string, nodes), make([][2][]reserve.PodKey, nodes)
				rng := rand.New(rand.NewPCG(1, 2))
				for i := range names {
					names[i] = fmt.Sprintf("node-%d", i)
					l.Account(names[i])
					keys := make([]reserve.PodKey, pods+1)
					for j := range keys {
						keys[j] = reserve.PodKey(rng.Uint64())
						_, err := l.Bound(names[i], keys[j], one, epoch)
						must(b, err)
					}
					lists[i] = [2][]reserve.PodKey{slices.Sorted(slices.Values(keys[:pods])), slices.Sorted(slices.Values(keys[1:]))}
				}
				order := rng.Perm(nodes)
				b.ReportAllocs()
				i, round := 0, 0
				for b.Loop() {
					node := order[i]
					which := 0
					if changed {
						which = round & 1
					}
					l.Confirm(names[node], 1, lists[node][which], epoch)
					if i++; i == nodes {
						i, round = 0, round+1
					}
				}
			})
		}
	}
}

func BenchmarkLedger(b *testing.B) {
	b.Run("HoldDelete", func(b *testing.B) {
		l := &reserve.Ledger{}
		l.Account("a")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := l.Hold("a", 1, 1); err != nil {
				b.Fatal(err)
			}
			l.Delete(1, epoch)
		}
	})
	b.Run("ReserveDelete", func(b *testing.B) {
		l := &reserve.Ledger{}
		l.Account("a")
		b.ReportAllocs()
		for b.Loop() {
			if err := l.Reserve("a", 1, one, epoch); err != nil {
				b.Fatal(err)
			}
			l.Delete(1, epoch)
		}
	})
}

func BenchmarkAdmit(b *testing.B) {
	signal, flight := reserve.Signal{Avail: 5, Pods: 3, K: 2}, reserve.Flight{Demand: 1}
	b.ReportAllocs()
	for b.Loop() {
		if reserve.Fits(signal, flight, one, reserve.Rules{}) != reserve.Admitted {
			b.Fatal("refused")
		}
	}
}

func ExampleLedger() {
	ledger := &reserve.Ledger{}
	node := ledger.Account("worker")
	signal := reserve.Signal{Avail: 2}
	now := time.Now()
	for i := range 3 {
		if reason := reserve.Fits(signal, node.Flight(), reserve.TypicalPod(), reserve.Rules{}); reason != reserve.Admitted {
			fmt.Println("pod", i, reason)
			continue
		}
		if err := ledger.Reserve("worker", reserve.PodKey(i), reserve.TypicalPod(), now); err != nil {
			fmt.Println(err)
		}
	}
	// The node's next report counts both pods and has no more room.
	ledger.Confirm("worker", 1, []reserve.PodKey{0, 1}, now)
	fmt.Println("in flight:", node.Flight().Demand)
	// Output:
	// pod 2 no room
	// in flight: 0
}

// A node reports room for 9 and falls silent with 3 pods in flight.
func ExampleFreshness() {
	ledger := &reserve.Ledger{}
	node := ledger.Account("worker")
	now := time.Now()
	for i := range 3 {
		if err := ledger.Reserve("worker", reserve.PodKey(i), reserve.TypicalPod(), now); err != nil {
			fmt.Println(err)
		}
	}
	freshness := reserve.Freshness{}
	signal := reserve.Signal{Avail: 9, Pods: 4}
	validity := freshness.Reported(0)
	for _, at := range []time.Duration{time.Second, time.Minute, time.Hour} {
		slots := freshness.Slots(validity, reserve.Moment{Now: at}, signal, node.Flight(), reserve.TypicalPod(), reserve.Rules{})
		fmt.Println(at, slots)
	}
	// Output:
	// 1s 1
	// 1m0s 1
	// 1h0m0s 1
}

func ExampleNormalizeTo() {
	free := []float64{3, 1.5, 0.4}
	raw := make([]float64, len(free))
	for i, f := range free {
		raw[i] = reserve.Score(f, 0, math.NaN(), 0, reserve.Ranking{})
	}
	fmt.Println(reserve.NormalizeTo(nil, raw))
	// Output: [100 50 13]
}

func ExampleSlots() {
	signal := reserve.Signal{Avail: 8, Pods: 4}
	for _, inFlight := range []float64{0, 3} {
		fmt.Println(reserve.Slots(signal, reserve.Flight{Demand: inFlight}, reserve.TypicalPod(), reserve.Rules{}))
	}
	// Output:
	// 4
	// 1
}

func ExampleKeyOf() {
	api, cgroup := reserve.KeyOf("3f1c0e52-9a7b-4c11-8f00-1a2b3c4d5e6f"), reserve.KeyOf("3f1c0e52_9a7b_4c11_8f00_1a2b3c4d5e6f")
	fmt.Printf("%x %v\n", uint64(api), api == cgroup)
	// Output: 3f1c0e529a7b4c11 true
}

func TestReasonsAreAll(t *testing.T) {
	if got := reserve.Reasons(); slices.Contains(got, reserve.Admitted) || len(got) != 6 {
		t.Errorf("reasons %v", got)
	}
	if got := reserve.SlowStart.String(); got != "slow start" {
		t.Errorf("slow start: got text %q", got)
	}
	if got := (reserve.NoMemory + 1).String(); got != "reason 7" {
		t.Errorf("unknown reason: got text %q", got)
	}
}
