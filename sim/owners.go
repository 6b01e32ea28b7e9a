package sim

import (
	"maps"
	"slices"
)

// sojourns are those of the pods of each owner, by its name.
type sojourns map[string]owner

// owner sums up its pods: their number, their sojourns, what these were without any wait, their
// work, and the sojourns by work.
type owner struct{ pods, sojourn, solo, work, byWork float64 }

func (s sojourns) add(p Pod, sojourn float64) {
	o := s[p.Workload]
	o.pods++
	o.sojourn += sojourn
	o.solo += p.Solo()
	o.work += p.work()
	o.byWork += p.work() * sojourn
	s[p.Workload] = o
}

// report adds the means by work and by owner, and how fair they are to owners.
func (s sojourns) report(m *metrics) {
	var all owner
	var means, slow []float64
	for _, name := range slices.Sorted(maps.Keys(s)) {
		o := s[name]
		all.work, all.byWork = all.work+o.work, all.byWork+o.byWork
		means, slow = append(means, o.sojourn/o.pods), append(slow, o.sojourn/o.solo)
	}
	if all.work > 0 { // all may only wait and hold memory
		m.add("sojourn_work_mean", all.byWork/all.work, "s")
	}
	if len(s) < 2 {
		return
	}
	sum := 0.
	for _, mean := range means {
		sum += mean
	}
	m.add("sojourn_owner_mean", sum/float64(len(means)), "s")
	m.add("owner_jain", jain(slow), "1")
}
