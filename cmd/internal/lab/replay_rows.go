package lab

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
)

// reportRows writes the reports as comma-separated values: the recorded avail and k
// beside the replayed ones, the rest as replayed.
type reportRows struct {
	csv    *csv.Writer
	begun  bool
	fields []string
}

func newReportRows(out io.Writer) *reportRows { return &reportRows{csv: csv.NewWriter(out)} }

func (r *reportRows) report(p recording.Pair, start time.Time) error {
	shown := p.Replayed
	if shown == nil {
		shown = p.Recorded
	}
	if !r.begun {
		if err := r.header(shown); err != nil {
			return err
		}
	}
	r.fields = append(r.fields[:0],
		shown.SampledAt.Format(time.RFC3339Nano), exactFloat(shown.SampledAt.Sub(start).Seconds()),
		strconv.Itoa(len(shown.Pods)))
	for _, side := range []*agent.Report{p.Recorded, p.Replayed} {
		if side == nil {
			r.fields = append(r.fields, "", "")
			continue
		}
		r.fields = append(r.fields, exactFloat(side.Avail), exactFloat(side.K))
	}
	r.fields = append(r.fields, shown.Limiting, strconv.FormatBool(shown.Flags.Churn), strconv.FormatBool(shown.Saturated))
	for _, c := range shown.Channels {
		r.fields = append(r.fields, exactFloat(c.Usage), exactFloat(c.Capacity), exactFloat(c.Cost), exactFloat(c.CostSD))
	}
	return r.csv.Write(r.fields)
}

func (r *reportRows) header(first *agent.Report) error {
	r.begun = true
	fields := []string{
		"at", "seconds", "pods", "recorded_avail", "recorded_k", "replayed_avail", "replayed_k", "limiting", "churn", "saturated",
	}
	for _, c := range first.Channels {
		fields = append(fields, c.Name+"_usage", c.Name+"_capacity", c.Name+"_cost", c.Name+"_cost_sd")
	}
	return r.csv.Write(fields)
}

func (r *reportRows) flush() error {
	r.csv.Flush()
	return r.csv.Error()
}

func exactFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
