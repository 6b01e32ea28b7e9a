package browser

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// start is the time of the scene.
var start = time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)

func after(d time.Duration) *time.Time {
	t := start.Add(d)
	return &t
}

// testbedOf returns a test bed of nodes with so many slots each, all free.
func testbedOf(namespace, name, node string, nodes, slots int) wire.Testbed {
	t := wire.Testbed{Meta: wire.Meta{Namespace: namespace, Name: name}, Ready: true, Nodes: nodes}
	for position := range slots {
		for n := range nodes {
			rank, host := n, fmt.Sprintf("%s-%02d", node, n)
			t.Slots = append(t.Slots, wire.Slot{
				ID: fmt.Sprintf("%s/%d", host, position), Index: len(t.Slots), Node: host, NodeID: &rank, Position: position, State: slot.Free,
			})
		}
	}
	return t
}

// give sets the state of the slots with these indices, for a job.
func give(t *wire.Testbed, state slot.State, job string, indices ...int) {
	for _, i := range indices {
		s := &t.Slots[i]
		s.State, s.ReservedFor = state, job
		if state == slot.Occupied {
			_, name, _ := cut(job)
			s.PodNamespace, s.Pod, s.PodUID = "default", fmt.Sprintf("%s-r1-%d", name, i), fmt.Sprintf("uid-%d", i)
		}
	}
}

func cut(name string) (string, string, bool) {
	for i := range name {
		if name[i] == '/' {
			return name[:i], name[i+1:], true
		}
	}
	return "", name, false
}

// jobs of the scene, with what a profiling scheduler has learned of each beside the others.
var jobs = []struct {
	name, kind string
	slow       float64 // slowdown of a neighbour
	takes      float64
}{
	{"flink-wordcount", "FlinkDeployment", .5, 24},
	{"kmeans", "SparkApplication", .9, 61},
	{"log-sort", "Job", .1, 33},
	{"pagerank", "SparkApplication", .8, 48},
	{"spark-crawler", "SparkApplication", .05, 40},
	{"spark-pi", "SparkApplication", .7, 18},
}

// external returns what the profiler stores in a job.
func external(i int) json.RawMessage {
	row := make(map[string]any)
	for k, other := range jobs {
		if k == i || (i+k)%7 == 6 {
			continue
		}
		mean := jobs[i].takes * (1 + jobs[i].slow*other.slow)
		row[other.name] = map[string]any{"count": 3 + (i+k)%3, "mean": float64(int(10*mean)) / 10, "squares": 2.5}
	}
	data, err := json.Marshal(map[string]any{"profiler": row})
	if err != nil {
		panic(err)
	}
	return data
}

// stage fills a store with two test beds in use, six jobs and three schedulings.
func stage(store *servertest.Store) {
	profiling, cluster := testbedOf("default", "profiling", "small", 3, 2), testbedOf("default", "cluster", "worker", 6, 4)
	give(&profiling, slot.Occupied, "default/flink-wordcount", 0)
	give(&profiling, slot.Occupied, "default/spark-pi", 3)
	give(&cluster, slot.Occupied, "default/kmeans", 0, 1, 2, 3)
	give(&cluster, slot.Occupied, "default/spark-crawler", 6, 7)
	give(&cluster, slot.Reserved, "default/pagerank", 8, 9, 12)
	give(&cluster, slot.Pending, "", 22, 23)
	give(&cluster, slot.Retiring, "default/kmeans", 5)
	store.PutTestbed(profiling)
	store.PutTestbed(cluster)

	state := map[string]string{"flink-wordcount": "Running", "spark-pi": "Scheduled", "kmeans": "Running", "spark-crawler": "Running", "pagerank": "Submitted", "log-sort": "Ready"}
	under := map[string]string{"flink-wordcount": "pair-0017", "spark-pi": "pair-0017", "kmeans": "nightly", "spark-crawler": "nightly", "pagerank": "nightly"}
	for i, j := range jobs {
		job := wire.Job{Meta: wire.Meta{Namespace: "default", Name: j.name}, Kind: j.kind, State: state[j.name], External: external(i)}
		for n := range 3 {
			begin := time.Duration(n)*10*time.Minute - 40*time.Minute
			run := wire.Run{
				Scheduling: fmt.Sprintf("default/pair-%04d", 11+n), Testbed: "default/profiling", Slots: []string{"small-00/0"}, Attempt: 1,
				Submitted: after(begin), Scheduled: after(begin + 2*time.Second), Started: after(begin + 3*time.Second),
				Finished: after(begin + 3*time.Second + time.Duration(j.takes*1e9)), Outcome: "Succeeded",
			}
			if n == 1 && j.name == "kmeans" {
				run.Outcome, run.Reason = "Failed", "BackoffLimitExceeded"
			}
			job.Runs = append(job.Runs, run)
		}
		if s := under[j.name]; s != "" {
			job.ActiveScheduling = "default/" + s
			job.CreationRequest = &wire.CreationRequest{Testbed: "default/cluster", Slots: []string{"worker-00/0", "worker-01/0", "worker-02/0", "worker-03/0"}, Replication: 4, Attempt: 1}
			if s == "pair-0017" {
				job.CreationRequest = &wire.CreationRequest{Testbed: "default/profiling", Slots: []string{"small-00/0"}, Replication: 1, Attempt: 1}
			}
			run := wire.Run{Scheduling: job.ActiveScheduling, Testbed: job.CreationRequest.Testbed, Slots: job.CreationRequest.Slots, Attempt: 1, Submitted: after(-90 * time.Second)}
			if job.State == "Running" {
				run.Scheduled, run.Started = after(-88*time.Second), after(-86*time.Second)
			}
			job.Runs = append(job.Runs, run)
		}
		job.Conditions = []wire.Condition{
			{Type: "Valid", Status: "True", Reason: "Accepted", Message: "the API server takes the " + j.kind, Since: *after(-time.Hour)},
			{Type: "Acquired", Status: "True", Reason: "Acquired", Message: "by default/nightly", Since: *after(-92 * time.Second)},
		}
		store.PutJob(job)
	}
	nightly := []wire.SchedulingJob{
		{Job: "default/log-sort", State: "Completed", Slots: []string{"worker-00/0"}},
		{Job: "default/kmeans", State: "Running", Slots: []string{"worker-00/0", "worker-01/0", "worker-02/0", "worker-03/0"}},
		{Job: "default/spark-crawler", State: "Running", Slots: []string{"worker-00/1", "worker-01/1"}},
		{Job: "default/pagerank", State: "Submitted", Slots: []string{"worker-02/1", "worker-03/1", "worker-00/2"}},
	}
	queue := []string{"default/log-sort", "default/kmeans", "default/kmeans", "default/kmeans", "default/kmeans", "default/spark-crawler", "default/spark-crawler", "default/pagerank", "default/pagerank", "default/pagerank"}
	store.PutScheduling(wire.Scheduling{
		Meta:           wire.Meta{Namespace: "default", Name: "nightly"},
		SchedulingSpec: wire.SchedulingSpec{Testbed: "default/cluster", Queue: queue, Priority: 10},
		State:          "Submitting", Jobs: nightly, Author: "maria", Started: after(-95 * time.Second),
		Conditions: []wire.Condition{{Type: "Feasible", Status: "True", Reason: "Feasible", Since: *after(-95 * time.Second)}},
	})
	pair := &wire.SlotBased{Mode: wire.Strict, Jobs: []wire.SlotJob{
		{Job: "default/flink-wordcount", Slots: []slot.Ref{{Index: 0}}}, {Job: "default/spark-pi", Slots: []slot.Ref{{Index: 3}}},
	}}
	store.PutScheduling(wire.Scheduling{
		Meta:           wire.Meta{Namespace: "default", Name: "pair-0017"},
		SchedulingSpec: wire.SchedulingSpec{Testbed: "default/profiling", Slots: pair, Exclusive: true},
		State:          "AwaitingCompletion", Author: "profiler",
		Jobs: []wire.SchedulingJob{{Job: "default/flink-wordcount", State: "Running", Slots: []string{"small-00/0"}}, {Job: "default/spark-pi", State: "Scheduled", Slots: []string{"small-00/1"}}},
	})
	store.PutScheduling(wire.Scheduling{
		Meta:           wire.Meta{Namespace: "default", Name: "weekly-report"},
		SchedulingSpec: wire.SchedulingSpec{Testbed: "default/cluster", Queue: []string{"default/log-sort"}},
		State:          "Acquiring", Author: "system:serviceaccount:reports:planner", Jobs: []wire.SchedulingJob{{Job: "default/log-sort"}},
	})
}

// states are all possible states of a slot.
var states = []slot.State{slot.Free, slot.Reserved, slot.Occupied, slot.Pending, slot.Retiring}
