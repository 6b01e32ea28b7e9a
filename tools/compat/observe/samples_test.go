package observe

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// samples are series in memory for Prometheus' engine. It is not safe for concurrent use.
type samples struct {
	series map[uint64]*series
	last   time.Time
}

type series struct {
	labels labels.Labels
	points []chunks.Sample
}

func newSamples() *samples { return &samples{series: map[uint64]*series{}} }

// add appends a value to a series.
func (s *samples) add(l labels.Labels, at time.Time, value float64) {
	one := s.series[l.Hash()]
	if one == nil {
		one = &series{labels: l}
		s.series[l.Hash()] = one
	}
	one.points = append(one.points, point{at.UnixMilli(), value})
	if at.After(s.last) {
		s.last = at
	}
}

// Querier implements storage.Queryable.
func (s *samples) Querier(from, to int64) (storage.Querier, error) { return querier{s, from, to}, nil }

type querier struct {
	*samples
	from, to int64
}

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &seriesSet{at: -1}
	for _, one := range q.series {
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.labels.Get(m.Name)) }) {
			continue
		}
		var within []chunks.Sample
		for _, p := range one.points {
			if p.T() >= q.from && p.T() <= q.to {
				within = append(within, p)
			}
		}
		if within != nil {
			found.all = append(found.all, storage.NewListSeries(one.labels, within))
		}
	}
	slices.SortFunc(found.all, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return found
}

// The engine does not call these.
func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (querier) Close() error { return nil }

type seriesSet struct {
	all []storage.Series
	at  int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.all) }
func (s *seriesSet) At() storage.Series                { return s.all[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// point is a value at a time.
type point struct {
	t int64
	v float64
}

func (p point) T() int64                      { return p.t }
func (p point) ST() int64                     { return 0 }
func (p point) F() float64                    { return p.v }
func (p point) H() *histogram.Histogram       { return nil }
func (p point) FH() *histogram.FloatHistogram { return nil }
func (p point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample           { return p }

// promQL parses expressions, and series in PromQL notation.
var promQL = parser.NewParser(parser.Options{})

// engine is Prometheus' own.
var engine = promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true})

// ask evaluates an expression whose result is a vector.
func (s *samples) ask(expr string, at time.Time) (promql.Vector, error) {
	query, err := engine.NewInstantQuery(context.Background(), s, nil, expr, at)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result := query.Exec(context.Background())
	if result.Err != nil {
		return nil, result.Err
	}
	if number, ok := result.Value.(promql.Scalar); ok {
		return promql.Vector{{F: number.V}}, nil
	}
	vector, err := result.Vector()
	return slices.Clone(vector), err
}
