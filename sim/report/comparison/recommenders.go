package comparison

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/spazio-scheduler/spazio/profile/replay"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// recommenders is an evaluation of all recommenders. It is a plain value, safe for
// concurrent reading.
type recommenders struct{ Rows []recommender }

// recommender is a recommender on the series of a resource. It is a plain value, safe for
// concurrent reading.
type recommender struct {
	Resource string `json:"resource"`
	Series   int    `json:"series"`
	replay.Curve
	// Default is the overhead of the default preset, swept, at this one's own
	// quality, NaN where it does not reach that. LeftOut is the largest ratio of the
	// two overheads when one of the series is left out, whichever that is.
	Default, LeftOut float64 `json:"-"`
}

// CompareRecommenders evaluates every recommender on the series of each resource that has any.
// The error is that of ctx if it ends before, or of the options or the series.
func CompareRecommenders(ctx context.Context, series []replay.Series, o replay.Options) (recommenders, error) {
	count := map[replay.Resource]int{}
	for _, s := range series {
		count[s.Resource]++
	}
	var result recommenders
	before, progress := 0, o.Progress
	for _, resource := range []replay.Resource{replay.CPU, replay.Memory} {
		n := count[resource]
		if n == 0 {
			continue
		}
		if progress != nil {
			o.Progress = func(done, all int) { progress(before*all+done, len(count)*all) }
		}
		curves, err := replay.Curves(ctx, series, resource, o)
		before++
		if err != nil {
			return recommenders{}, err
		}
		for _, c := range curves {
			result.Rows = append(result.Rows, recommender{resource.String(), n, c, curves[0].OverheadAt(c.Own.Quality), leftOut(curves[0], c, n)})
		}
	}
	return result, nil
}

// leftOut is the largest ratio of the default's overhead to a peer's, at the peer's
// quality, with each series left out in turn.
func leftOut(byDefault, peer replay.Curve, series int) (worst float64) {
	for i := range series {
		own := peer.Without(i).Own
		ratio := byDefault.Without(i).OverheadAt(own.Quality) / own.Overhead
		if own.N == 0 || math.IsNaN(ratio) {
			return math.NaN()
		}
		worst = max(worst, ratio)
	}
	return worst
}

// MarshalJSON writes what there is not as null.
func (r recommender) MarshalJSON() ([]byte, error) {
	type plain recommender
	row := struct {
		plain
		Default *float64 `json:"defaultOverhead"`
		LeftOut *float64 `json:"leftOutRatio"`
	}{plain: plain(r)}
	if !math.IsNaN(r.Default) {
		row.Default = &r.Default
	}
	if !math.IsNaN(r.LeftOut) {
		row.LeftOut = &r.LeftOut
	}
	return json.Marshal(row)
}

// Table has a row a recommender and resource.
func (r recommenders) Table() text.Table {
	t := text.Table{
		Title: "Predictions for the next window: the share that held, and what they were above the mean",
		Header: []string{"resource", "series", "recommender", "quality", "overhead", "default's overhead at that quality",
			"most of it, a series left out", "overhead, mean of series", "pinball", "predictions"},
	}
	for _, row := range r.Rows {
		s := row.Own
		t.Add(row.Resource, strconv.Itoa(row.Series), row.Name, decimal(s.Quality, 4), decimal(s.Overhead, 4), decimal(row.Default, 4), decimal(row.LeftOut, 4),
			decimal(s.OverheadMean, 4), decimal(s.Pinball, 4), strconv.Itoa(s.N))
	}
	return t
}

// Save draws the curves of both resources into a file ending in .png or .svg: what
// failed grows to the right, what it cost upwards, so that low and left is better.
func (r recommenders) Save(path string) error {
	var c report.Chart
	for _, resource := range []string{"cpu", "memory"} {
		panel := report.Panel{
			Title: fmt.Sprintf("%s: overhead over failures, percentile swept; the dot is the recommender as it is", resource),
			X:     report.Axis{Label: "share of predictions that failed", Log: true, Min: leastFailed, Max: mostFailed},
			Y:     report.Axis{Label: "overhead"},
			Tall:  true,
		}
		for _, row := range r.Rows {
			if row.Resource == resource {
				panel.Series = append(panel.Series, row.drawn()...)
			}
		}
		if len(panel.Series) > 0 {
			c.Panels = append(c.Panels, panel)
		}
	}
	return c.WriteFile(path)
}

// What is drawn: fewer failures are none to speak of, more are of no use.
const leastFailed, mostFailed = 1e-3, .25

// drawn are the row's curve and its own point, as far as they are worth drawing.
func (r recommender) drawn() []report.Series {
	line := report.Series{Name: r.Name}
	if len(r.Swept) == 0 { // who never fails, at whatever percentile
		line.Style = report.Dashed
		line.Points = []report.Point{{X: leastFailed, Y: r.Own.Overhead}, {X: mostFailed, Y: r.Own.Overhead}}
		return []report.Series{line}
	}
	for _, p := range r.Swept {
		if at, ok := place(p.Score); ok {
			line.Points = append(line.Points, at)
		}
	}
	all := []report.Series{line}
	if at, ok := place(r.Own); ok {
		all = append(all, report.Series{Name: r.Name, Style: report.Dots, Points: []report.Point{at}})
	}
	return all
}

func place(s replay.Score) (at report.Point, ok bool) {
	failed := 1 - s.Quality
	return report.Point{X: max(failed, leastFailed), Y: s.Overhead}, failed <= mostFailed
}
