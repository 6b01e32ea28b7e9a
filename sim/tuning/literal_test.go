package tuning

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// corrected returns the factors of services after a correction by their metrics.
func corrected(t *testing.T, components bool, metrics ...[]float64) (factors []float64) {
	t.Helper()
	var services []service
	for i := range metrics {
		services = append(services, service{name: fmt.Sprint(i)})
	}
	l, err := newLiteral(services, components)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range metrics {
		l.of[i].metric = m
	}
	l.correct(start.Add(time.Hour))
	for _, s := range l.of {
		factors = append(factors, s.factor)
	}
	return factors
}

// The band is a fifth around the mean of the application, in which a service without a value is not.
func TestLiteralIsTheThesiss(t *testing.T) {
	for _, test := range []struct {
		name    string
		metrics [][]float64
		want    []float64
	}{
		{"means of 3, 1 and 2", [][]float64{{2, 4}, {1}, {2, 2}}, []float64{1.2, .9, 1}},
		{"just within", [][]float64{{1.2}, {.8}}, []float64{1, 1}},
		{"just beyond", [][]float64{{1.21}, {.79}}, []float64{1.2, .9}},
		{"all suffer alike", [][]float64{{.9}, {.9}}, []float64{1, 1}},
		{"nobody does", [][]float64{{0}, {0}}, []float64{1, 1}},
		{"one hardly does", [][]float64{{1e-9}, {0}}, []float64{1.2, .9}},
		{"one has no value", [][]float64{{2}, nil, {2}}, []float64{1, 1, 1}},
	} {
		if diff := cmp.Diff(test.want, corrected(t, false, test.metrics...)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// A component is one service, whose mean is its own; the one that has waited longest is looked up.
func TestLiteralComponents(t *testing.T) {
	if diff := cmp.Diff([]float64{1, 1}, corrected(t, true, []float64{9}, []float64{1})); diff != "" {
		t.Error(diff)
	}
	l, err := newLiteral([]service{{name: "b"}, {name: "a"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	for minute := 1; minute <= 3; minute++ {
		l.correct(start.Add(time.Duration(minute) * time.Minute))
	}
	// Of two that have waited equally long the first by name comes first: a, b, a.
	if got := []time.Duration{l.of[0].updated.Sub(start), l.of[1].updated.Sub(start)}; got[0] != 2*time.Minute || got[1] != 3*time.Minute {
		t.Errorf("looked up after %v", got)
	}
}
