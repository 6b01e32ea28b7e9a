package profile

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// FuzzPackedNodes: what is packed and opened again is the same to the last bit.
func FuzzPackedNodes(f *testing.F) {
	f.Add(uint64(1), 1., 2e8, 0., int64(1), 1., .25, 0., int64(2))
	f.Add(uint64(2), .5, math.Copysign(0, -1), 1e-300, int64(-1), 2., float64(1<<53), math.Inf(1), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, key uint64, pods, mean, variance float64, at int64, pods2, mean2, variance2 float64, at2 int64) {
		a, b := kept{pods, mean, variance, at}, kept{pods2, mean2, variance2, at2}
		want := []ofNode{{key, [resources]kept{a, b}}, {key + 1, [resources]kept{a, a}}, {key + 2, [resources]kept{{}, b}}, {key + 3, [resources]kept{b, {}}}, {key: key + 4}}
		s := scope{nodes: slices.Clone(want)}
		s.pack()
		if len(want) > 0 && (s.nodes != nil || s.size() != len(want) || len(s.packed) > mostPacked*len(want)) {
			t.Fatalf("%d nodes in %d bytes, %d beside", s.size(), len(s.packed), len(s.nodes))
		}
		bits := func(nodes []ofNode) (all []uint64) {
			for _, n := range nodes {
				all = append(all, n.key)
				for _, k := range n.ended {
					all = append(all, math.Float64bits(k.pods), math.Float64bits(k.mean), math.Float64bits(k.variance), uint64(k.at))
				}
			}
			return all
		}
		s.open()
		if !slices.Equal(bits(s.nodes), bits(want)) || s.packed != nil || s.size() != len(want) {
			t.Fatalf("%+v became %+v", want, s.nodes)
		}
	})
}

// A profile says the same whether the slots that are over are packed or not, and they are.
func TestPackedSlotsSayTheSame(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 10))
		config := Config{SlotPods: 1, SlotDays: 1, Slots: 1 + int(seed)%5}
		packs, opens := must(t, config), must(t, config)
		at, seen := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 0
		for step := range 2000 {
			at = at.Add(time.Duration(r.IntN(600)) * time.Second)
			pod := r.IntN(25)
			w := Window{
				Pod: fmt.Sprint(pod, step/800), Node: fmt.Sprint("node", pod%20), Revision: fmt.Sprint(step / 900),
				Usage: Usage{
					Age: time.Duration(step) * time.Minute, Span: time.Minute, CPU: 30 + 10*r.Float64(), Pressure: true,
					Memory: math.Round(1e8 * (1 + .2*r.Float64())), Ended: r.IntN(30) == 0,
				},
			}
			if r.IntN(200) == 0 {
				w.CPU, w.Memory = 600, 1e9 // doubts, and now and then a restart
			}
			for _, p := range []*Profile{packs, opens} {
				if err := p.Observe(at, w); err != nil {
					t.Fatal(err)
				}
			}
			for i, s := range packs.slots {
				if s != nil && s.packed != nil {
					seen++
				}
				if opens.slots[i] != nil {
					opens.slots[i].open()
				}
			}
			if a, b := packs.Demand(at, time.Hour), opens.Demand(at, time.Hour); a != b {
				t.Fatalf("seed %d, step %d: %+v packed, %+v open", seed, step, a, b)
			}
		}
		if !bytes.Equal(packs.State(), opens.State()) {
			t.Errorf("seed %d: another state", seed)
		}
		if packed := seen > 0; packed != (config.Slots > 1) {
			t.Errorf("seed %d, %d slots: packed %v", seed, config.Slots, packed)
		}
	}
}

func must(t *testing.T, c Config) *Profile {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
