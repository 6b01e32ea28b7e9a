package demo

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return epoch.Add(time.Duration(seconds * float64(time.Second)))
}

// record returns a pod of one core-second.
func record(node string, created, bound, running, done float64) podRecord {
	return podRecord{
		batchTask: batchTask{Work: time.Second},
		Node:      node,
		Created:   at(created), Bound: at(bound), Running: at(running), Done: at(done),
	}
}

func TestSummarise(t *testing.T) {
	failed := record("a", 0, 1, 2, 100)
	failed.Failed = true
	pending := podRecord{Created: at(0)}
	tests := []struct {
		name    string
		records []podRecord
		want    batchSummary
	}{
		{"nothing", nil, batchSummary{}},
		{"one", []podRecord{record("a", 1, 2, 4, 6)}, batchSummary{
			Pods: 1, Throughput: .2, Makespan: 5, SlowdownP99: 2, MostPods: 1,
			RunTime:    timeQuantiles{Mean: 2, P50: 2, P95: 2, P99: 2},
			Sojourn:    timeQuantiles{Mean: 5, P50: 5, P95: 5, P99: 5},
			Scheduling: timeQuantiles{Mean: 1, P50: 1, P95: 1, P99: 1},
		}},
		{"two of four", []podRecord{
			record("a", 0, 1, 2, 3), failed, record("b", 0, 3, 4, 8), pending,
		}, batchSummary{
			Pods: 2, Failed: 1, Throughput: .25, Makespan: 8, SlowdownP99: 4, MostPods: 2,
			RunTime:    timeQuantiles{Mean: 2.5, P50: 1, P95: 4, P99: 4},
			Sojourn:    timeQuantiles{Mean: 5.5, P50: 3, P95: 8, P99: 8},
			Scheduling: timeQuantiles{Mean: 2, P50: 1, P95: 3, P99: 3},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := summarise(test.records)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSummariseQuantiles(t *testing.T) {
	var records []podRecord
	for i := 200; i >= 1; i-- {
		records = append(records, record("a", 0, 0, 0, float64(i)))
	}
	got := summarise(records).RunTime
	want := timeQuantiles{Mean: 100.5, P50: 100, P95: 190, P99: 198}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("quantiles of 1 to 200 (-want +got):\n%s", diff)
	}
}

func TestMostPodsOnANode(t *testing.T) {
	tests := []struct {
		name    string
		records []podRecord
		want    int
	}{
		{"one after the other", []podRecord{record("a", 0, 0, 1, 2), record("a", 0, 2, 3, 4)}, 1},
		{"overlap", []podRecord{record("a", 0, 0, 1, 2.5), record("a", 0, 2, 3, 4)}, 2},
		{"on two nodes", []podRecord{record("a", 0, 0, 1, 9), record("b", 0, 0, 1, 9)}, 1},
		{"not done", []podRecord{record("a", 0, 0, 1, 2), {Node: "a", Bound: at(1)}, {Node: "a", Bound: at(3)}}, 2},
		{"not bound", []podRecord{{Created: at(1)}}, 0},
		{"killed beside another", []podRecord{
			{Node: "b", Bound: at(9), Past: []podLife{{Node: "a", Bound: at(1), Killed: at(3)}}}, record("a", 0, 2, 3, 4),
		}, 2},
	}
	for _, test := range tests {
		if got := summarise(test.records).MostPods; got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestSummaryIsFinite(t *testing.T) {
	s := summarise([]podRecord{{Created: at(0)}})
	for _, v := range []float64{s.Throughput, s.Makespan, s.SlowdownP99, s.RunTime.Mean} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("summary without pods: got %g", v)
		}
	}
}
