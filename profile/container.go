package profile

import (
	"slices"
	"strings"
	"time"
)

// container is what recommendations for a container are made of.
type container struct {
	name      string // empty: the pod as a whole
	histories [resources]History
	// peaks has the largest amount of memory of each ended pod, live those of pods
	// that are not, by their keys.
	peaks Histogram
	live  []podPeak
	// kills are the peaks at which the kernel killed for want of memory.
	kills Peaks
}

// containers are a workload's in the order of their names: mostly one, for which a map
// would take more than the container.
type containers []*container

func (c containers) find(name string) (i int, known bool) {
	return slices.BinarySearchFunc(c, name, func(c *container, name string) int { return strings.Compare(c.name, name) })
}

// of is the container of a name, nil if there is none.
func (c containers) of(name string) *container {
	if i, known := c.find(name); known {
		return c[i]
	}
	return nil
}

// podPeak is the largest amount of memory of a live pod.
type podPeak struct {
	pod   uint64
	ns    int64 // since 1970, of its last window
	bytes float64
}

// killSpan is how long each span of kills is; they count for eight.
const killSpan = 48 * time.Hour

// newContainer is of a configuration that was validated and has no defaults left.
func newContainer(name string, c *Config) *container {
	made := &container{
		name:  strings.Clone(name),
		peaks: Histogram{scale: scalingOf(Memory), halfLife: int64(c.PodHalfLife)},
		kills: Peaks{span: int64(killSpan), spans: peakHalfLives + 1},
	}
	for r := range made.histories {
		made.histories[r] = newHistory(c.history(r).withDefaults())
	}
	return made
}

// observe takes a valid window.
func (c *container) observe(at time.Time, w *Window) error {
	pod := keyOf(w.Pod)
	i, known := c.find(pod)
	if !known {
		c.live = slices.Insert(c.live, i, podPeak{pod: pod})
	}
	p := &c.live[i]
	memory := w.memory(p.bytes)
	p.ns = max(p.ns, at.UnixNano())
	p.bytes = max(p.bytes, memory)
	var err error
	if !w.NoCPU {
		err = c.addCPU(at, w)
	}
	if err == nil && memory > 0 {
		err = c.histories[1].Add(at, memory, w.Span.Minutes())
	}
	if err == nil && w.OOMKills > 0 {
		err = c.kills.Add(at, p.bytes)
	}
	if w.Ended {
		c.end(pod)
	}
	return err
}

// addCPU adds the demands of the window, weighted by their minutes.
func (c *container) addCPU(at time.Time, w *Window) error {
	if len(w.Demand) == 0 {
		return c.histories[0].Add(at, w.cores(), w.Span.Minutes())
	}
	for _, d := range w.Demand {
		if d.Millis == 0 {
			continue
		}
		minutes := float64(d.Millis) / float64(time.Minute/time.Millisecond)
		if err := c.histories[0].Add(at, CPU.within(int(d.Bucket)), minutes); err != nil {
			return err
		}
	}
	return nil
}

func (c *container) find(pod uint64) (i int, known bool) {
	return slices.BinarySearchFunc(c.live, pod, func(p podPeak, key uint64) int {
		switch {
		case p.pod < key:
			return -1
		case p.pod > key:
			return 1
		}
		return 0
	})
}

// newest is the span of time, of recentSpan, in which the container was last measured.
func (c *container) newest() int64 {
	return max(c.histories[0].recent.newest, c.histories[1].recent.newest)
}

// end keeps a pod's peak.
func (c *container) end(pod uint64) {
	i, known := c.find(pod)
	if !known {
		return
	}
	addPeak(&c.peaks, c.live[i])
	c.live = slices.Delete(c.live, i, i+1)
}

// addPeak adds a pod's peak, which was checked when it was observed.
func addPeak(to *Histogram, p podPeak) {
	if p.bytes > 0 {
		_ = to.Add(time.Unix(0, p.ns), p.bytes, 1)
	}
}

// podPeak is that percentile of pods' peaks, 0 without any.
func (c *container) podPeak(percentile float64) float64 {
	all := c.peaks.clone()
	for _, p := range c.live {
		addPeak(all, p)
	}
	return all.Quantile(percentile)
}

// After a kill for want of memory the target is the peak and a fifth, or the peak
// and 100 MiB if that is more: the autoscaler's rule
// (pkg/recommender/model/aggregations_config.go, 1.7.0).
const killShare, killBytes = 1.2, 100 << 20

// afterKills is what the kills ask for, 0 without any. It is never a sample: fed
// back, each would raise the next (kubernetes/autoscaler#9521).
func (c *container) afterKills(at time.Time) float64 {
	peak := c.kills.Max(at)
	if peak == 0 {
		return 0
	}
	return max(killShare*peak, peak+killBytes)
}

// amounts are what the rules say.
func (c *container) amounts(at time.Time, by Preset) Amounts {
	memory := c.histories[1].level(at, by.Memory)
	if by.Memory.Pods > 0 {
		memory = max(memory, c.podPeak(by.Memory.Pods))
	}
	return Amounts{
		CPU:    c.histories[0].Target(at, by.CPU),
		Memory: max(by.Memory.above(memory), c.afterKills(at)),
	}
}
