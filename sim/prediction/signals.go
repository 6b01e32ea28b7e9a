package prediction

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/svd"
)

// Names of signals.
const (
	// prontoSignal is package pronto's, federated; aloneSignal has no fleet.
	prontoSignal = "pronto"
	aloneSignal  = "pronto-alone"
	// svdSignal has the directions of a decomposition of the load itself.
	svdSignal = "svd"
	// rawSignal is a threshold on the pressure, zScore one on how many of its deviations it is
	// above its mean, by exponential averages as long as Pronto's window.
	rawSignal = "threshold"
	zScore    = "ewma"
	// coinSignal rejects by chance as often as Pronto, shifted when Pronto did some other time.
	coinSignal = "coin"
	shifted    = "shifted"
)

// signals are all, in the order of rows.
func signals() []string {
	return []string{prontoSignal, aloneSignal, svdSignal, rawSignal, zScore, coinSignal, shifted}
}

// about describes a signal in a few words.
func about(signal string) string {
	return map[string]string{
		prontoSignal: "Pronto, models merged over the source's nodes",
		aloneSignal:  "PCA of each node alone",
		svdSignal:    "the same on directions that are not centred",
		rawSignal:    "raw pressure above a threshold",
		zScore:       "z-score of the pressure, exponential averages",
		coinSignal:   "a coin for each sample",
		shifted:      "Pronto's rejections at another time",
	}[signal]
}

// draws is how many times chance is tried.
const draws = 20

// tracked runs a tracker a node, of its own samples alone but where step adopts others.
func tracked(s Source, c pronto.Config, every func(trackers []*pronto.Tracker, i int) error) ([][]bool, error) {
	trackers := make([]*pronto.Tracker, len(s.nodes))
	rejects := make([][]bool, len(s.nodes))
	for i := range trackers {
		var err error
		if trackers[i], err = pronto.New(c); err != nil {
			return nil, err
		}
		rejects[i] = make([]bool, s.samples())
	}
	var signal pronto.Signal
	for k := range s.samples() {
		at := time.Unix(0, 0).Add(time.Duration(k) * time.Second / time.Duration(s.second))
		for i, t := range trackers {
			if err := t.StepTo(&signal, at, s.nodes[i].Metrics[k]); err != nil {
				return nil, err
			}
			rejects[i][k] = signal.Reject
		}
		if every == nil {
			continue
		}
		if err := every(trackers, k); err != nil {
			return nil, err
		}
	}
	return rejects, nil
}

// federate has all nodes adopt what they know together, once a block.
func federate(trackers []*pronto.Tracker, k int) error {
	if (k+1)%svd.DefaultBlock != 0 || len(trackers) == 1 {
		return nil
	}
	var fleet svd.Model
	for _, t := range trackers {
		var err error
		if fleet, err = svd.Merge(fleet, t.Model()); err != nil {
			return err
		}
	}
	for _, t := range trackers {
		if err := t.Adopt(fleet); err != nil {
			return err
		}
	}
	return nil
}

// uncentred has each node adopt the directions of the load itself. They are given as
// those of a model about the origin, since a tracker takes none that is not centred.
func uncentred(s Source) func([]*pronto.Tracker, int) error {
	models := make([]svd.Model, len(s.nodes))
	return func(trackers []*pronto.Tracker, k int) error {
		if (k+1)%svd.DefaultBlock != 0 {
			return nil
		}
		for i, t := range trackers {
			var err error
			if models[i], err = svd.Update(models[i], s.nodes[i].Metrics[k+1-svd.DefaultBlock:k+1], svd.Options{}); err != nil {
				return err
			}
			state := models[i].State()
			state.Mean = make([]float64, state.Dim)
			about, err := svd.FromState(state)
			if err != nil {
				return err
			}
			if err := t.Adopt(about); err != nil {
				return err
			}
		}
		return nil
	}
}

// asOften rejects where the scores are highest, as nearly as equal scores permit on
// count samples.
func asOften(scores []float64, void []bool, count int) []bool {
	var open []float64
	for i, v := range scores {
		if void == nil || !void[i] {
			open = append(open, v)
		}
	}
	rejects := make([]bool, len(scores))
	if count == 0 || len(open) == 0 {
		return rejects
	}
	slices.Sort(open)
	at := open[max(len(open)-count, 0)]
	low, _ := slices.BinarySearch(open, at)
	high, _ := slices.BinarySearch(open, math.Nextafter(at, math.Inf(1)))
	if with, without := len(open)-low, len(open)-high; with-count > count-without {
		at = math.Nextafter(at, math.Inf(1))
	}
	for i, v := range scores {
		rejects[i] = v >= at && (void == nil || !void[i])
	}
	return rejects
}

// zScores are how far each value is above an exponential average of those before, in
// deviations by one of their squares.
func zScores(values []float64) []float64 {
	const gain = 2. / (pronto.DefaultLag + 1)
	scores := make([]float64, len(values))
	mean, variance := values[0], 0.
	for i, v := range values {
		d := v - mean
		scores[i] = d / max(math.Sqrt(variance), pronto.Flat)
		mean += gain * d
		variance = (1 - gain) * (variance + gain*d*d)
	}
	return scores
}

// toss rejects on each sample by chance, as often as the given rejections.
func toss(rng *rand.Rand, rejects, void []bool) []bool {
	open := 0
	for i := range rejects {
		if void == nil || !void[i] {
			open++
		}
	}
	share := float64(count(rejects)) / float64(max(open, 1))
	tossed := make([]bool, len(rejects))
	for i := range tossed {
		tossed[i] = rng.Float64() < share && (void == nil || !void[i])
	}
	return tossed
}

// shift is the same rejections some other time, a tenth of the span away at least.
func shift(rng *rand.Rand, rejects []bool) []bool {
	n := len(rejects)
	by := n/10 + rng.IntN(max(n-2*(n/10), 1))
	shifted := make([]bool, n)
	for i, r := range rejects {
		shifted[(i+by)%n] = r
	}
	return shifted
}

func count(row []bool) (n int) {
	for _, v := range row {
		if v {
			n++
		}
	}
	return n
}
