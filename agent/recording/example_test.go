package recording_test

import (
	"fmt"
	"os"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
)

// An agent records ten seconds: it passes each input to the recorder before the pipeline, and each
// report after it. The recording is then verified, and replayed with a margin of one pod more.
func Example() {
	dir, err := os.MkdirTemp("", "recording")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	c := agent.Config{
		Node: "n1", Incarnation: 1, Schema: "example", Cores: 4,
		Channels: []agent.Channel{{Name: agent.CPU, Size: 4}},
	}
	pipeline, err := agent.New(c)
	if err != nil {
		panic(err)
	}
	recorder, err := recording.Create(dir, c, recording.Options{State: pipeline.State})
	if err != nil {
		panic(err)
	}
	at := time.Unix(0, 0)
	pods := agent.RunningPods(1, 2)
	recorder.Pods(at, pods)
	if _, _, err := pipeline.Pods(at, pods); err != nil {
		panic(err)
	}
	for range 100 {
		at = at.Add(100 * time.Millisecond)
		y := []float64{.3}
		recorder.Sample(at, y)
		report, ok, err := pipeline.Sample(at, y)
		if err != nil {
			recorder.Dropped(at, err)
		}
		if ok {
			recorder.Report(report)
		}
	}
	if err := recorder.Close(); err != nil {
		panic(err)
	}

	for _, override := range []func(*agent.Config){nil, func(c *agent.Config) { c.Avail.Allowance = 1 }} {
		reader, err := recording.Open(dir)
		if err != nil {
			panic(err)
		}
		reports, identical, last := 0, 0, 0.
		for pair, err := range recording.Replay(reader, override) {
			if err != nil {
				panic(err)
			}
			reports++
			if pair.Identical() {
				identical++
			}
			last = pair.Replayed.Avail
		}
		fmt.Printf("%d of %d reports identical, the last offers %.1f pods\n", identical, reports, last)
	}
	// Output:
	// 11 of 11 reports identical, the last offers 2.8 pods
	// 0 of 11 reports identical, the last offers 3.8 pods
}
