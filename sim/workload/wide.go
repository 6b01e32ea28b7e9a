package workload

import (
	"math"

	"github.com/spazio-scheduler/spazio/sim"
)

// widths are the pods of Wide: their cores, how many of a hundred, and their owner. A
// quarter of a core has one thread, as it waits for something else most of the time.
var widths = []struct {
	cores, share float64
	owner        string
}{
	{.25, .4, "quarter"},
	{1, .4, "one"},
	{4, .15, "four"},
	{8, .05, "eight"},
}

// What a pod of Wide takes of memory for each of its cores, evenly between the two, in
// bytes, no more in all than a node of 4 cores holds, and over how many seconds.
const (
	wideMemoryLimit = 12 * (1 << 30)
	wideMemoryLeast = .5 * (1 << 30)
	wideMemoryMost  = 3.5 * (1 << 30)
	wideRamp        = 5
)

// Wide is a batch of pods of a quarter of a core, one, four and eight cores in random
// order, of as many threads, whose memory grows over seconds. Every pod runs alone, on a
// node that is large enough, for the given work, in seconds.
func Wide(seed uint64, n int, work float64, law Law) ([]sim.Pod, error) {
	pods, err := Batch(seed, n, work, law)
	if err != nil {
		return nil, err
	}
	choices := newStreams(seed).choices
	for i := range pods {
		p := &pods[i]
		u := choices.Float64()
		for _, w := range widths {
			p.Cores, p.Workload = w.cores, w.owner
			if u -= w.share; u < 0 {
				break
			}
		}
		p.Work *= p.Cores
		p.Memory = math.Round(p.Cores * (wideMemoryLeast + (wideMemoryMost-wideMemoryLeast)*choices.Float64()))
		p.Memory = math.Min(p.Memory, wideMemoryLimit)
		p.Ramp = wideRamp
	}
	return pods, nil
}
