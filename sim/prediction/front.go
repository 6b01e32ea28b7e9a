package prediction

import (
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
)

// How long a container event closes the gate, in seconds, and how long events that
// follow one another may at most.
const (
	churnHold = int(pipeline.DefaultChurnHold / time.Second)
	churnCap  = int(pipeline.DefaultChurnCap / time.Second)
)

// gate is void where an agent takes containers to be coming or going, the event's own
// sample included.
func gate(churn []bool, second int) []bool {
	if churn == nil {
		return nil
	}
	void := make([]bool, len(churn))
	first, last := 0, -1
	for i, event := range churn {
		if event {
			if last < 0 || i-last >= churnHold*second {
				first = i
			}
			last = i
		}
		void[i] = last >= 0 && i-last < churnHold*second && i-first < churnCap*second
	}
	return void
}

// filtered is the source behind the dynamic EMA of an agent, without the pressure that
// is to be foretold.
func filtered(s Source) (Source, error) {
	s.nodes = slices.Clone(s.nodes)
	for i := range s.nodes {
		n := &s.nodes[i]
		bank, err := filter.NewBank(len(n.Metrics[0]), filter.Config{})
		if err != nil {
			return Source{}, err
		}
		metrics := make([][]float64, len(n.Metrics))
		for k, y := range n.Metrics {
			if metrics[k], err = bank.StepTo(nil, y); err != nil {
				return Source{}, err
			}
		}
		n.Metrics = metrics
	}
	return s, nil
}

// smoothed is one series behind the same filter.
func smoothed(values []float64) ([]float64, error) {
	bank, err := filter.NewBank(1, filter.Config{})
	if err != nil {
		return nil, err
	}
	levels := make([]float64, len(values))
	var level []float64
	for i, v := range values {
		if level, err = bank.StepTo(level, []float64{v}); err != nil {
			return nil, err
		}
		levels[i] = level[0]
	}
	return levels, nil
}

// silence takes the rejections away that fall where the gate is closed.
func silence(rejects, void []bool) {
	for i, v := range void {
		if v {
			rejects[i] = false
		}
	}
}
