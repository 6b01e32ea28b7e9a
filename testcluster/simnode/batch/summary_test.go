package batch_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/testcluster/simnode/batch"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return epoch.Add(time.Duration(seconds * float64(time.Second)))
}

// record returns a pod of one core-second.
func record(node string, created, bound, running, done float64) batch.Record {
	return batch.Record{
		Task:    batch.Task{Work: time.Second},
		Node:    node,
		Created: at(created), Bound: at(bound), Running: at(running), Done: at(done),
	}
}

func TestSummarise(t *testing.T) {
	failed := record("a", 0, 1, 2, 100)
	failed.Failed = true
	pending := batch.Record{Created: at(0)}
	tests := []struct {
		name    string
		records []batch.Record
		want    batch.Summary
	}{
		{"nothing", nil, batch.Summary{}},
		{"one", []batch.Record{record("a", 1, 2, 4, 6)}, batch.Summary{
			Pods: 1, Throughput: .2, Makespan: 5, SlowdownP99: 2, MostPods: 1,
			RunTime:    batch.Quantiles{Mean: 2, P50: 2, P95: 2, P99: 2},
			Sojourn:    batch.Quantiles{Mean: 5, P50: 5, P95: 5, P99: 5},
			Scheduling: batch.Quantiles{Mean: 1, P50: 1, P95: 1, P99: 1},
		}},
		{"two of four", []batch.Record{
			record("a", 0, 1, 2, 3), failed, record("b", 0, 3, 4, 8), pending,
		}, batch.Summary{
			Pods: 2, Failed: 1, Throughput: .25, Makespan: 8, SlowdownP99: 4, MostPods: 2,
			RunTime:    batch.Quantiles{Mean: 2.5, P50: 1, P95: 4, P99: 4},
			Sojourn:    batch.Quantiles{Mean: 5.5, P50: 3, P95: 8, P99: 8},
			Scheduling: batch.Quantiles{Mean: 2, P50: 1, P95: 3, P99: 3},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := batch.Summarise(test.records)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSummariseQuantiles(t *testing.T) {
	var records []batch.Record
	for i := 200; i >= 1; i-- {
		records = append(records, record("a", 0, 0, 0, float64(i)))
	}
	got := batch.Summarise(records).RunTime
	want := batch.Quantiles{Mean: 100.5, P50: 100, P95: 190, P99: 198}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("quantiles of 1 to 200 (-want +got):\n%s", diff)
	}
}

func TestMostPodsOnANode(t *testing.T) {
	tests := []struct {
		name    string
		records []batch.Record
		want    int
	}{
		{"one after the other", []batch.Record{record("a", 0, 0, 1, 2), record("a", 0, 2, 3, 4)}, 1},
		{"overlap", []batch.Record{record("a", 0, 0, 1, 2.5), record("a", 0, 2, 3, 4)}, 2},
		{"on two nodes", []batch.Record{record("a", 0, 0, 1, 9), record("b", 0, 0, 1, 9)}, 1},
		{"not done", []batch.Record{record("a", 0, 0, 1, 2), {Node: "a", Bound: at(1)}, {Node: "a", Bound: at(3)}}, 2},
		{"not bound", []batch.Record{{Created: at(1)}}, 0},
		{"killed beside another", []batch.Record{
			{Node: "b", Bound: at(9), Past: []batch.Life{{Node: "a", Bound: at(1), Killed: at(3)}}}, record("a", 0, 2, 3, 4),
		}, 2},
	}
	for _, test := range tests {
		if got := batch.Summarise(test.records).MostPods; got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestSummaryIsFinite(t *testing.T) {
	s := batch.Summarise([]batch.Record{{Created: at(0)}})
	for _, v := range []float64{s.Throughput, s.Makespan, s.SlowdownP99, s.RunTime.Mean} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("summary without pods: got %g", v)
		}
	}
}
