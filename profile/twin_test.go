package profile_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
)

// everyPod keeps all windows of every pod.
type everyPod map[[2]string][]observed

type observed struct {
	at time.Time
	w  profile.Window
}

// demand is computed anew from all of them: mean and variance over the pods, each by its age in
// pods' half-lives, a node with at most four times the weight of the median one.
func (e everyPod) demand(halfLife time.Duration) profile.Demand {
	var newest time.Time
	for _, windows := range e {
		if at := windows[len(windows)-1].at; at.After(newest) {
			newest = at
		}
	}
	type pod struct{ cpu, memory, weight float64 }
	byNode := map[string][]pod{}
	for key, windows := range e {
		var p pod
		seconds := 0.
		for _, o := range windows {
			p.cpu += o.w.CPU + o.w.Stalled
			seconds += o.w.Span.Seconds()
			p.memory = max(p.memory, o.w.Memory, o.w.MemoryPeak)
		}
		p.cpu /= seconds
		p.weight = math.Pow(.5, newest.Sub(windows[len(windows)-1].at).Seconds()/halfLife.Seconds())
		byNode[key[0]] = append(byNode[key[0]], p)
	}
	weights := map[string]float64{}
	for node, pods := range byNode {
		for _, p := range pods {
			weights[node] += p.weight
		}
	}
	var sorted []float64
	for _, w := range weights {
		sorted = append(sorted, w)
	}
	slices.Sort(sorted)
	most := 4 * sorted[(len(sorted)-1)/2]
	share := func(of func(pod) float64) profile.Share {
		n, mean, square := 0., 0., 0.
		for node, pods := range byNode {
			limit := min(1, most/weights[node])
			for _, p := range pods {
				n += limit * p.weight
				mean += limit * p.weight * of(p)
			}
		}
		mean /= n
		for node, pods := range byNode {
			limit := min(1, most/weights[node])
			for _, p := range pods {
				square += limit * p.weight * (of(p) - mean) * (of(p) - mean)
			}
		}
		return profile.Share{Amount: mean, SD: math.Sqrt(square / n), Confidence: n / (n + 1)}
	}
	return profile.Demand{CPU: share(func(p pod) float64 { return p.cpu }), Memory: share(func(p pod) float64 { return p.memory })}
}

// However the windows of pods are mixed, a profile equals the one computed from all windows.
func TestProfileEqualsEveryPodKept(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		p := newProfile(t, profile.Config{Slots: 1})
		kept := everyPod{}
		at := start
		nodes := 1 + r.IntN(14)
		ended := map[[2]string]bool{}
		for range 400 {
			at = at.Add(time.Duration(r.IntN(7200)) * time.Second)
			n := int(float64(nodes) * r.Float64() * r.Float64()) // some nodes have many
			key := [2]string{fmt.Sprint("node", n), fmt.Sprint("pod", r.IntN(60))}
			if ended[key] {
				continue
			}
			w := profile.Window{
				Node: key[0], Pod: key[0] + key[1],
				Usage: profile.Usage{
					Age: time.Hour, Span: time.Duration(1+r.IntN(60)) * time.Second, Memory: 1e8 * (1 + .2*r.Float64()),
					Ended: r.IntN(3) == 0, Pressure: true,
				},
			}
			w.CPU = w.Span.Seconds() * (1 + .2*r.Float64())
			w.Stalled = w.Span.Seconds() * .1 * r.Float64()
			ended[key] = w.Ended
			observe(t, p, at, w)
			kept[key] = append(kept[key], observed{at, w})
		}
		got, want := p.Demand(at, 0), kept.demand(week)
		if p.Restarts() != 0 {
			t.Fatalf("seed %d: the windows should contradict nothing", seed)
		}
		for _, v := range [][2]float64{
			{got.CPU.Amount, want.CPU.Amount}, {got.CPU.SD, want.CPU.SD}, {got.CPU.Confidence, want.CPU.Confidence},
			{got.Memory.Amount, want.Memory.Amount}, {got.Memory.SD, want.Memory.SD}, {got.Memory.Confidence, want.Memory.Confidence},
		} {
			if math.Abs(v[0]-v[1]) > 1e-12*math.Abs(v[1]) {
				t.Fatalf("seed %d, %d nodes: %+v, want %+v", seed, nodes, got, want)
			}
		}
	}
}

// With more nodes than are kept separately, merged ones still count, and one node with many pods is
// at most a share.
func TestProfileOfManyNodes(t *testing.T) {
	p := newProfile(t, profile.Config{})
	at := start
	for i := range 200 {
		at = at.Add(time.Second)
		w := window(fmt.Sprint("pod", i), 1, 1e8)
		w.Node = fmt.Sprint("node", i)
		observe(t, p, at, w)
	}
	cpu, _ := p.Evidence()
	if math.Abs(cpu.Pods-200) > .1 || math.Abs(cpu.Mean-1) > 1e-9 {
		t.Errorf("%v pods of %v cores, want 200 of 1", cpu.Pods, cpu.Mean)
	}
	// In each round one node has fifty pods, and then twenty others have one each.
	for round := range 20 {
		for i := range 70 {
			at = at.Add(time.Second)
			w := window(fmt.Sprint("more", round, "-", i), 1, 1e8)
			w.Node = fmt.Sprint("node", (20*round+i)%200)
			if i < 50 {
				w.Node, w.CPU = "liar", 60*1.7
			}
			observe(t, p, at, w)
		}
	}
	if cpu, _ := p.Evidence(); cpu.Mean > 1.15 {
		t.Errorf("%v cores of %v pods, one node has moved it from 1", cpu.Mean, cpu.Pods)
	}
}

// For any accepted window, a profile's amounts are valid and can be stored.
func FuzzObserve(f *testing.F) {
	f.Add([]byte("a profile takes what an agent sends it, and an agent may send anything"), uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, slots uint8) {
		c := profile.Config{Slots: int(slots % 25)}.WithSlotEvidence(1, 1)
		p := newProfile(t, c)
		next := func() uint64 {
			var b [8]byte
			text = text[copy(b[:], text):]
			return binary.LittleEndian.Uint64(b[:])
		}
		at := start
		for len(text) > 0 {
			kind := next()
			at = at.Add(time.Duration(int32(kind)) * time.Millisecond * 100)
			w := profile.Window{
				Pod: fmt.Sprint(kind >> 32 & 3), Node: fmt.Sprint(kind >> 34 & 3), Revision: fmt.Sprint(kind >> 36 & 1), Container: []string{"", "a"}[kind>>37&1], Always: kind>>39&1 == 1,
				Usage: profile.Usage{
					Ended: kind>>38&1 == 1, Pressure: kind>>40&1 == 0, OOMKills: uint32(kind >> 41 & 1),
					Age: time.Duration(next() >> 1), Span: time.Duration(next() % uint64(time.Hour)),
					CPU: math.Float64frombits(next()), Stalled: math.Float64frombits(next()), Memory: math.Float64frombits(next()),
					MemoryPeak: math.Float64frombits(next()),
				},
			}
			if kind>>42&1 == 1 {
				w.Demand = []profile.DemandTime{{Bucket: uint32(next()), Millis: uint32(next())}}
			}
			if kind>>43&1 == 1 {
				p.Gone(w.Pod)
			}
			_ = p.Observe(at, w) // refused or taken
		}
		for _, p := range []*profile.Profile{p, restored(t, c, p.State())} {
			for _, d := range append(p.Slots(), p.Demand(at, 0), p.Demand(at, time.Hour)) {
				if err := d.Validate(); err != nil {
					t.Fatal(err)
				}
			}
			for _, preset := range profile.Presets() {
				if _, err := p.Recommend(at, preset, profile.Bounds{}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
