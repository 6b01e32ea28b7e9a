package prediction

// starts is what pressure does where containers start or stop, of all nodes of a
// source. Counts may be 0.
type starts struct {
	Source string
	// Events is how many samples have one, Share the share of the time within a second
	// after one.
	Events int
	Share  float64
	// Spikes is how many begin within that second, of how many, by kind of spike.
	Spikes, All [2]int
	// Calm is how many events came after two seconds without any, whose mean pressure is
	// at most a tenth or the node's median, and Rise the mean of the largest pressure within a
	// second after these. Stills and Still are the same of samples after two such seconds
	// that no event follows within a second.
	Calm, Stills int
	Rise, Still  float64
}

// calm is how many seconds are, and still the mean pressure that they may have
// whatever the median is, which is 0 on a node that mostly rests.
const (
	calm  = 2
	still = .1
)

// startsOf is false where nothing is known of containers.
func startsOf(s Source) (starts, bool) {
	t := starts{Source: s.name}
	within, samples, known := 0, 0, false
	for _, n := range s.nodes {
		if n.Churn == nil {
			continue
		}
		known = true
		after := make([]bool, len(n.Churn))
		last := -s.second - 1
		for i, event := range n.Churn {
			if event {
				last = i
				t.Events++
			}
			after[i] = i-last < s.second
		}
		within += count(after)
		samples += len(after)
		for k, threshold := range thresholds() {
			for _, at := range begins(above(n.Pressure, threshold.of(n.Pressure)), s.second) {
				t.All[k]++
				if after[at] {
					t.Spikes[k]++
				}
			}
		}
		t.rises(n, s.second)
	}
	if !known {
		return starts{}, false
	}
	t.Share = float64(within) / float64(samples)
	t.Rise /= float64(max(t.Calm, 1))
	t.Still /= float64(max(t.Stills, 1))
	return t, true
}

// rises sums up the largest pressures that follow two calm seconds.
func (t *starts) rises(n node, second int) {
	before := calm * second
	most := max(quantile(n.Pressure, .5), still)
	sum := 0.
	for i := range n.Pressure {
		if i >= before {
			if i+second > len(n.Pressure) {
				return
			}
			if sum/float64(before) <= most && count(n.Churn[i-before:i]) == 0 {
				t.rise(n, i, second)
			}
			sum -= n.Pressure[i-before]
		}
		sum += n.Pressure[i]
	}
}

func (t *starts) rise(n node, i, second int) {
	most := 0.
	for _, p := range n.Pressure[i : i+second] {
		most = max(most, p)
	}
	switch {
	case n.Churn[i]:
		t.Calm++
		t.Rise += most
	case count(n.Churn[i:i+second]) == 0:
		t.Stills++
		t.Still += most
	}
}
