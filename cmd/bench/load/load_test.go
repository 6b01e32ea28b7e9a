package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
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
		"nonsense", "watch --nonsense", "watch -o xml",
		"watch --clients 0", "watch --rate 0", "watch --duration 0s", "watch word",
		"page --nodes 0", "page --readers 33", "page --readers 0", "page --changing 1.5", "page --changing NaN", "page --duration 1s", "page more",
		"testbeds --nodes 2001 --slots 1", "testbeds --slots 5", "testbeds --jobs 39", "testbeds --pods 5001", "testbeds --rounds 0", "testbeds word",
	} {
		var stdout, stderr bytes.Buffer
		if code := command.Execute(t.Context(), root(), strings.Fields(line), &stdout, &stderr); code != command.ExitUsage || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, stderr %q, stdout %q", line, code, &stderr, &stdout)
		}
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
