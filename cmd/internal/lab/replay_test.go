package lab_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/lab"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
)

var start = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

// record writes the recording of a node of four cores for some seconds, whose pods take .6 cores each
// after a startup spike, and returns the number of reports. forge changes reports before they are
// recorded.
func record(t *testing.T, dir string, seconds int, forge func(*agent.Report)) (reports int) {
	t.Helper()
	c := agent.Config{
		Node: "node-1", Incarnation: 1, Schema: "test/v1", Cores: 4,
		Channels: []agent.Channel{{Name: agent.CPU, Size: 4}, {Name: "memory", Size: 16e9}},
	}
	p, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := recording.Create(dir, c, recording.Options{State: p.State, FileSize: 100_000, Buffer: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	keep := func(report agent.Report, ok bool, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			reports++
			forge(&report)
			r.Report(report)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var pods []reserve.PodKey
	spike, at := 0, start
	for i := range seconds * 10 {
		if rng.Float64() < .012 {
			if len(pods) > 0 && rng.IntN(5) < 2 || len(pods) > 6 {
				pods = pods[1:]
			} else {
				pods = append(pods, reserve.PodKey(rng.Uint64()))
				spike = 3
			}
			r.Churn(at)
			p.Churn(at)
			r.Pods(at, agent.RunningPods(pods...))
			keep(p.Pods(at, agent.RunningPods(pods...)))
		}
		if i == seconds*5 {
			f := fleet(t)
			r.Fleet(at, f)
			if err := p.SetFleet(at, f); err != nil {
				t.Fatal(err)
			}
		}
		at = at.Add(100 * time.Millisecond)
		if i%500 == 499 {
			r.Dropped(at, errors.New("the counters of the CPU ran backwards"))
			continue
		}
		cpu := .06 + .14*float64(len(pods)) + .015*rng.NormFloat64()
		if spike--; spike >= 0 {
			cpu += .35
		}
		y := []float64{min(max(cpu, 0), 1), min(.1+.05*float64(len(pods))+.002*rng.NormFloat64(), 1)}
		r.Sample(at, y)
		keep(p.Sample(at, y))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return reports
}

func fleet(t *testing.T) agent.Fleet {
	t.Helper()
	m, err := svd.Update(svd.Model{}, [][]float64{{.5, .2}, {.6, .2}}, svd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return agent.Fleet{
		Schema: "test/v1", Model: m, Nodes: 9,
		Costs: []agent.Cost{{Value: .7, SD: .1, Known: true}, {Value: .9e9, SD: .1e9, Known: true}},
	}
}

func honest(*agent.Report) {}

// replayed runs the command and returns its exit code and output.
func replayed(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = command.Execute(t.Context(), lab.NewCommand(), append([]string{"replay"}, args...), &out, &err)
	return code, out.String(), err.String()
}

// verdict is the part of the JSON summary that the tests check.
type verdict struct {
	Node, Revision     string
	Files, Samples     int
	Dropped, Different int
	Pods               int `json:"mostPods"`
	Torn               []string
	First              string `json:"firstDifference"`
	Recorded, Replayed struct {
		Reports int
		Avail   struct{ Mean float64 }
	}
}

func summary(t *testing.T, args ...string) (v verdict) {
	t.Helper()
	code, out, stderr := replayed(t, append(args, "--output", "json")...)
	if code != command.ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerify(t *testing.T) {
	dir := t.TempDir()
	most := 0
	reports := record(t, dir, 600, func(r *agent.Report) { most = max(most, len(r.Pods)) })
	code, out, stderr := replayed(t, dir, "--verify")
	if code != command.ExitOK || !strings.Contains(out, "identical, bit for bit") || stderr != "" {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	v := summary(t, dir, "--verify")
	if v.Revision == "" || !strings.HasSuffix(out, "\nspazio-lab "+v.Revision+"\n") {
		t.Errorf("revision %q as JSON, and as text\n%s", v.Revision, out)
	}
	if v.Node != "node-1" || v.Files < 2 || v.Samples != 5988 || v.Dropped != 12 || v.Pods != most || v.Recorded.Reports != reports || v.Replayed.Reports != reports {
		t.Errorf("%d reports, %d pods: %+v", reports, most, v)
	}
}

func TestVerifyFindsDifference(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, 60, func(r *agent.Report) {
		if r.Sequence >= 30 {
			r.Avail += 1e-12
		}
	})
	code, out, stderr := replayed(t, dir, "--verify")
	if code != command.ExitFailure || !strings.Contains(out, "DIFFER") || !strings.Contains(stderr, "Avail: ") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	if code, _, _ := replayed(t, dir); code != command.ExitOK {
		t.Errorf("without --verify: exit code %d", code)
	}
}

func TestTornEnd(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, 20, honest)
	path := filepath.Join(dir, "00000001.spazio")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-5); err != nil {
		t.Fatal(err)
	}
	if v := summary(t, path, "--verify"); len(v.Torn) != 1 || v.Different != 0 || v.Recorded.Reports == 0 {
		t.Errorf("%+v", v)
	}
}

func TestReplaySet(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, 300, honest)
	before := summary(t, dir)
	bold := summary(t, dir, "--set", "avail.caution=-1", "--set", "avail.allowance=1", "--set", "estimator.method=joint", "--set", "churn-hold=500ms")
	if bold.Different == 0 || bold.First == "" || bold.Replayed.Avail.Mean < before.Replayed.Avail.Mean+.9 {
		t.Errorf("before %+v\nbold %+v", before, bold)
	}
	if same := summary(t, dir, "--set", "avail.caution=1"); same.Different != 0 {
		t.Errorf("explicit default: got %+v", same)
	}
}

func TestReplayUsage(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, 5, honest)
	for name, args := range map[string][]string{
		"no file":        {},
		"output":         {dir, "--output", "yaml"},
		"no option":      {dir, "--set", "speed=1"},
		"prior":          {dir, "--set", "estimator.prior=.1"},
		"fixed":          {dir, "--set", "cores=8"},
		"no value":       {dir, "--set", "avail.caution"},
		"not a number":   {dir, "--set", "avail.caution=much"},
		"not a method":   {dir, "--set", "estimator.method=best"},
		"out of range":   {dir, "--set", "fleet-share=2"},
		"verify and set": {dir, "--set", "avail.caution=1", "--verify"},
	} {
		code, _, stderr := replayed(t, args...)
		if code != command.ExitUsage || stderr == "" {
			t.Errorf("%s: exit code %d, %q", name, code, stderr)
		}
		if len(args) == 3 && args[1] == "--set" && !strings.Contains(stderr, "--set "+args[2]+": ") {
			t.Errorf("%s: %q does not name the assignment", name, stderr)
		}
	}
	if code, _, stderr := replayed(t, filepath.Join(dir, "none")); code != command.ExitFailure || stderr == "" {
		t.Errorf("no such file: exit code %d, %q", code, stderr)
	}
}

func TestReplayCSV(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, 60, honest)
	_, out, _ := replayed(t, dir, "--output", "csv")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 10 || len(rows) > 120 || rows[0][0] != "at" || rows[0][10] != "cpu_usage" {
		t.Errorf("%d rows, header %v", len(rows), rows[0])
	}
	for _, row := range rows[1:] {
		at, err := time.Parse(time.RFC3339Nano, row[0])
		if err != nil || at.Before(start) || at.After(start.Add(time.Minute)) || row[3] != row[5] {
			t.Errorf("row %v, %v", row, err)
		}
	}
}
