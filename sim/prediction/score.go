package prediction

import (
	"slices"

	"gonum.org/v1/gonum/stat"
)

// threshold is what pressure a spike exceeds.
type threshold uint8

const (
	// ownPercentile is the node's own 95th.
	ownPercentile threshold = iota
	// half is one half.
	half
)

func (t threshold) String() string {
	if t == half {
		return ".5"
	}
	return "the 95th percentile"
}

// MarshalText writes it in words.
func (t threshold) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// thresholds lists both.
func thresholds() []threshold { return []threshold{ownPercentile, half} }

const percentile = .95

// of is the pressure itself.
func (t threshold) of(pressure []float64) float64 {
	if t == half {
		return .5
	}
	return quantile(pressure, percentile)
}

// quantile is the least value that so large a share does not exceed.
func quantile(values []float64, share float64) float64 {
	return stat.Quantile(share, stat.Empirical, slices.Sorted(slices.Values(values)), nil)
}

// windows is w, in seconds.
var windows = [3]int{1, 5, 15}

// signalScore is how a signal did. Counts are of all nodes together, and where chance is in
// play a mean of several draws, so that they need not be whole.
type signalScore struct {
	// Spikes is how many there were, Foretold how many within each of the windows, and AtFirst
	// how many had a rejection at their first sample.
	Spikes   float64
	Foretold [len(windows)]float64
	AtFirst  float64
	// Alarms is how many there were, False how many in vain by each of the windows.
	Alarms float64
	False  [len(windows)]float64
	// Samples and Rejecting count samples.
	Samples, Rejecting float64
	// Lead sums up the leads of the spikes foretold within the last of the windows, in
	// seconds.
	Lead float64
}

// foretoldShare is the share of spikes foretold within the i-th window; NaN without any.
func (s signalScore) foretoldShare(i int) float64 { return s.Foretold[i] / s.Spikes }

// atFirstShare is the share of spikes with a rejection at their first sample.
func (s signalScore) atFirstShare() float64 { return s.AtFirst / s.Spikes }

// falseShare is the share of alarms in vain; NaN without any.
func (s signalScore) falseShare(i int) float64 { return s.False[i] / s.Alarms }

// rejectedShare is the share of the time.
func (s signalScore) rejectedShare() float64 { return s.Rejecting / s.Samples }

// meanLead is in seconds; NaN if nothing was foretold.
func (s signalScore) meanLead() float64 { return s.Lead / s.Foretold[len(windows)-1] }

// plus adds up what two nodes, or two draws, came to.
func (s signalScore) plus(o signalScore) signalScore {
	s.Spikes += o.Spikes
	s.AtFirst += o.AtFirst
	s.Alarms += o.Alarms
	s.Samples += o.Samples
	s.Rejecting += o.Rejecting
	s.Lead += o.Lead
	for i := range windows {
		s.Foretold[i] += o.Foretold[i]
		s.False[i] += o.False[i]
	}
	return s
}

// over divides by a number of draws.
func (s signalScore) over(n float64) signalScore {
	s.Spikes /= n
	s.AtFirst /= n
	s.Alarms /= n
	s.Samples /= n
	s.Rejecting /= n
	s.Lead /= n
	for i := range windows {
		s.Foretold[i] /= n
		s.False[i] /= n
	}
	return s
}

// begins are the samples at which a row of true ones begins after a rest of as many
// false ones as a second has; rows at the very start, of which the rest is not known,
// are none.
func begins(row []bool, second int) (at []int) {
	quiet := 0
	for i, v := range row {
		switch {
		case !v:
			quiet++
		default:
			if quiet >= second {
				at = append(at, i)
			}
			quiet = 0
		}
	}
	return at
}

// above has an entry a value, which is set if the value exceeds the threshold.
func above(values []float64, threshold float64) []bool {
	row := make([]bool, len(values))
	for i, v := range values {
		row[i] = v > threshold
	}
	return row
}

// score holds rejections against the pressure above a threshold.
func score(spiking, rejects []bool, second int) signalScore {
	s := signalScore{Samples: float64(len(spiking))}
	for _, r := range rejects {
		if r {
			s.Rejecting++
		}
	}
	spikes := begins(spiking, second)
	s.Spikes = float64(len(spikes))
	for _, at := range spikes {
		s.spike(rejects, at, second)
	}
	last := -second - 1 // the last sample of a spike so far
	alarms := begins(rejects, second)
	s.Alarms = float64(len(alarms))
	next := 0
	for i, k := 0, 0; k < len(alarms); i++ {
		if spiking[i] {
			last = i
		}
		if i < alarms[k] {
			continue
		}
		for next < len(spikes) && spikes[next] <= i {
			next++
		}
		if under := i-last <= second; !under {
			for w, seconds := range windows {
				if next == len(spikes) || spikes[next]-i > seconds*second {
					s.False[w]++
				}
			}
		}
		k++
	}
	return s
}

// spike counts one.
func (s *signalScore) spike(rejects []bool, at, second int) {
	if rejects[at] {
		s.AtFirst++
	}
	longest := windows[len(windows)-1] * second
	for i := max(at-longest, 0); i < at; i++ {
		if !rejects[i] {
			continue
		}
		s.Lead += float64(at-i) / float64(second)
		break
	}
	for w, seconds := range windows {
		if slices.Contains(rejects[max(at-seconds*second, 0):at], true) {
			s.Foretold[w]++
		}
	}
}
