package lab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/cmd/internal/lab"
	"github.com/spazio-scheduler/spazio/sim/prediction"
)

func evaluatePronto(args ...string) (string, error) {
	var out bytes.Buffer
	cmd := lab.NewCommand()
	cmd.SetArgs(append([]string{"pronto", "evaluate"}, args...))
	cmd.SetOut(&out)
	cmd.SetErr(new(bytes.Buffer))
	err := cmd.ExecuteContext(context.Background())
	return out.String(), err
}

// writePressure records a minute of a node with a jump.
func writePressure(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	c := agent.Config{Node: "n", Schema: "v2;cpu=pressure;memory=available", Channels: []agent.Channel{{Name: agent.CPU, Size: 2}, {Name: "memory", Size: 1}}, Cores: 2}
	pipeline, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := recording.Create(dir, c, recording.Options{State: pipeline.State})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 600 {
		at, y := time.Unix(1_000_000, 0).Add(time.Duration(i)*100*time.Millisecond), .1+.01*float64(i%7)
		if i%40 < 3 {
			y += .6
		}
		r.Sample(at, []float64{y, .5})
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "00000001.spazio")
}

// The page is the same to the last byte, for any number of parallel runs, with the same recording,
// series and seeds.
func TestProntoPageIsReproducible(t *testing.T) {
	path := writePressure(t)
	series := t.TempDir()
	var b strings.Builder
	b.WriteString("timestamp,value\n")
	for i := range 400 {
		fmt.Fprintf(&b, "%d,%d\n", 300*i, 10+i%7+60*(i%29/28))
	}
	if err := os.WriteFile(filepath.Join(series, "a.csv"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	made := func(processors int) map[string]string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		dir := t.TempDir()
		_, err := evaluatePronto("--recording", path, "--series", "ec2="+series, "--seeds", "2",
			"b1", "h1", "--trace", "h1="+series, "--fleet", "2x4", "--batch", "20", "--work", "2", "--duration", "10", "--load", ".4", "--report", filepath.Join(dir, "pronto.md"))
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[e.Name()] = string(text)
		}
		return files
	}
	files := made(1)
	if diff := cmp.Diff(files, made(2)); diff != "" {
		t.Errorf("second run:\n%s", diff)
	}
	for _, want := range []string{
		"recording, raw, 14 spikes", "batch, work=2, law=equal", "background, ", "| pronto-coin |", "1 machines, 400 rows",
	} {
		if !strings.Contains(files["pronto.md"], want) {
			t.Errorf("no %q in\n%s", want, files["pronto.md"])
		}
	}
	if len(files) != 4 {
		t.Errorf("got %d files, want the page, the shares and a minute of recording and simulator", len(files))
	}
}

// The recording that docs/pronto.md evaluates can be read.
func TestDocumentedRecording(t *testing.T) {
	if _, err := prediction.ReadRecording(filepath.Join("..", "..", "..", "docs", "pronto", "machine.spazio.gz")); err != nil {
		t.Error(err)
	}
}

func TestProntoOutput(t *testing.T) {
	out, err := evaluatePronto("--output", "json")
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		Rows []struct {
			Source, Signal, Spike string
			Samples               float64
		}
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if len(made.Rows) != 28 || made.Rows[0].Source != "simulator" || made.Rows[0].Signal != "pronto" || made.Rows[0].Spike != "the 95th percentile" || made.Rows[0].Samples < 1500 {
		t.Errorf("rows %+v", made.Rows)
	}
	if out, err := evaluatePronto("--output", "csv"); err != nil || strings.Count(out, "\n") != 29 {
		t.Errorf("error %v: %s", err, out)
	}
}

func TestProntoRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"--series", "directory"}, {"--series", "x=" + t.TempDir()}, {"--recording", "missing"},
		{"--seeds", "0"}, {"b0"}, {"--report", "x.txt"}, {"--output", "xml"},
	} {
		if _, err := evaluatePronto(args...); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
	if _, err := evaluatePronto("--series", "directory"); !errors.Is(err, lab.ErrFlag) {
		t.Errorf("error %v", err)
	}
}
