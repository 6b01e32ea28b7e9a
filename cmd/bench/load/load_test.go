package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

func TestMain(m *testing.M) {
	children.Init(roles())
	os.Exit(m.Run())
}

// measure runs a benchmark, whether or not this machine meets its bars, and returns its figures.
func measure(t *testing.T, b benchmark, args ...string) map[string]float64 {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	b.flags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := b.validate(flags.Args()); err != nil {
		t.Fatal(err)
	}
	g, err := children.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var r bench.Result
	if err := b.measure(t.Context(), &r, g, io.Discard); err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, row := range r.Rows {
		found[row.What] = row.Value
	}
	return found
}

func TestAggregator(t *testing.T) {
	var stdout, stderr bytes.Buffer
	args := []string{"aggregator", "--nodes", "30", "--connections", "4", "--rate", "20", "--warm-up", "1s", "--duration", "2s", "-o", "json"}
	if code := bench.Run(t.Context(), command(), args, &stdout, &stderr); code != bench.OK {
		t.Fatalf("exit code %d, stderr %q", code, &stderr)
	}
	var r bench.Result
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	found := map[string]float64{}
	for _, row := range r.Rows {
		found[row.What] = row.Value
	}
	if n := found["pushes answered"]; !(n > 0 && n < 1200) || found["pushes failed"] != 0 || found["nodes that it knows"] != 30 {
		t.Errorf("%v", found)
	}
	if p50, p99, most := found["latency, p50"], found["latency, p99"], found["latency, p100"]; !(p50 > 0 && p50 <= p99 && p99 <= most && most <= found["latency from when it was due, p100"]) {
		t.Errorf("%v", found)
	}
	if !(found["push within the aggregator, mean"] > 0 && found["aggregator"] > 0 && found["aggregator resident, most"] > 1 && found["its heap in use"] > 0 && found["load generator"] > 0) {
		t.Errorf("%v", found)
	}
}

func TestProfiler(t *testing.T) {
	found := measure(t, &profiler{}, "--nodes", "20", "--pods", "100", "--workloads", "10", "--warm-up", "15s", "--duration", "5s")
	if found["batches accepted"] <= 0 || found["windows accepted"] <= 0 || found["other windows, in all"] != 0 || found["workloads that it knows"] != 10 || found["pods that it knows"] != 100 || found["profiler resident, most"] <= 1 {
		t.Errorf("%v", found)
	}
}

func TestWatch(t *testing.T) {
	found := measure(t, &watch{}, "--nodes", "10", "--jobs", "5", "--clients", "3", "--duration", "2s")
	if lag := found["pod event to client, p50"]; !(lag > 0 && lag <= found["pod event to client, p99"]) || found["processor time"] <= 0 {
		t.Errorf("%v", found)
	}
}

func TestPage(t *testing.T) {
	found := measure(t, &page{}, "--nodes", "300", "--readers", "2", "--duration", "4s", "--changing", "0")
	if found["frames"] < 2 || found["the first"] < 300*float64(len(`[0,1,0,0,0,0,0,0,0,0,""],`)) || found["the others, largest"] > found["the first"]/2 || found["the others, median"] > found["the others, largest"] {
		t.Errorf("%v", found)
	}
}

func TestRefuses(t *testing.T) {
	for _, line := range []string{
		"nonsense", "aggregator word", "aggregator --nonsense", "aggregator -o xml", "aggregator --nodes 0", "aggregator --connections 0", "aggregator --channels 0",
		"aggregator --channels 65", "aggregator --rate NaN", "aggregator --duration -1s", "aggregator --warm-up -1s",
		"profiler word", "profiler --nodes 0", "profiler --pods 1", "profiler --workloads 0", "profiler --pods 10 --nodes 1 --workloads 11", "profiler --duration 0s",
		"watch --clients 0", "watch --rate 0", "watch --duration 0s", "watch word",
		"page --nodes 0", "page --readers 33", "page --readers 0", "page --changing 1.5", "page --changing NaN", "page --duration 1s", "page more",
		"testbeds --nodes 2001 --slots 1", "testbeds --slots 5", "testbeds --jobs 39", "testbeds --pods 5001", "testbeds --rounds 0", "testbeds word",
	} {
		var stdout, stderr bytes.Buffer
		if code := bench.Run(t.Context(), command(), strings.Fields(line), &stdout, &stderr); code != bench.BadUsage || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, stderr %q, stdout %q", line, code, &stderr, &stdout)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := bench.Run(t.Context(), command(), []string{"profiler", "--profiler", os.DevNull}, &stdout, &stderr); code != bench.Failure || stdout.Len() > 0 {
		t.Errorf("no program: exit code %d, stderr %q", code, &stderr)
	}
}

// Interrupted pairs still show their measurements.
func TestSamples(t *testing.T) {
	half := samples{placeholders: []float64{7, 3}, slots: []float64{50, 90}, plain: []float64{100}}
	var r bench.Result
	half.report(&r)
	if len(r.Rows) != 2 || r.Rows[0].Value != 7 || r.Rows[1].Value != .5 {
		t.Errorf("%+v", r.Rows)
	}
	if half.placeholders[0] != 7 {
		t.Error("the samples were sorted in place")
	}
}
