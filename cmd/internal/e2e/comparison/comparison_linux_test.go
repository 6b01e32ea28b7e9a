package comparison

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/compare"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/demo"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	_ "github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster" // its flag applies to all of them
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

func TestMain(m *testing.M) {
	cluster.RunProgram(demo.Main)
	children.Init(containers)
	os.Exit(m.Run())
}

// small is a comparison of seconds, on a possibly loaded machine.
var small = []string{
	"compare", "--schedulers=default-scheduler,spazio", "--runs=1", "--duration=4s", "--warm-up=1s",
	"--kill=2", "--kill-every=1s", "--replicas=1", "--rate=20", "--most-late=1", "--output=json",
}

func TestCompare(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	process := cluster.StartProgram(t, append(small, "--out="+out)...)
	if code := process.End(t); code != command.ExitOK {
		t.Fatalf("exit code %d:\n%s", code, process.Said())
	}
	process.CheckNothingLeft(t)
	var r compare.Outcome
	if err := json.Unmarshal(process.Stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v in %s", err, process.Stdout.String())
	}
	if len(r.Runs) != 2 || r.Runs[0].Scheduler != "default-scheduler" || r.Runs[1].Scheduler != "spazio" {
		t.Fatalf("runs %+v", r.Runs)
	}
	for i := range r.Runs {
		check(t, r, i)
	}
	if agents := r.Runs[0].CPU["agent"]; agents != 0 {
		t.Errorf("default scheduler: got %v s of agents", agents)
	}
	if agents := r.Runs[1].CPU["agent"]; agents <= 0 {
		t.Errorf("Spazio: got %v s of agents", agents)
	}
	for _, name := range []string{"report.md", "schedulers.svg", "schedulers.png", "runs.json", "means.csv", "cpu.csv", "ratios.csv", "runs.csv"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// check checks that a run of 4 s with 20 requests a second, with nine pods, two of which are killed
// three times, is plausible. The first slice takes 10 W to 40 W, the second 25 W to 95 W; a machine of
// one CPU has one.
func check(t *testing.T, o compare.Outcome, run int) {
	t.Helper()
	r := o.Runs[run]
	idle, full := 10., 40.
	if len(r.Pods) == 2 {
		idle, full = 35, 135
	}
	// Requests fail until a killed pod is replaced, which depends on the machine.
	if r.Requests+r.Errors != 80 || r.Requests == 0 {
		t.Errorf("%s: got %d requests and %d errors, want 80", r.Scheduler, r.Requests, r.Errors)
	}
	if r.Seconds < 4 || r.Joules < idle*r.Seconds-5 || r.Joules > full*r.Seconds+5 || r.Overhead <= 0 || r.Overhead > r.Joules {
		t.Errorf("%s: got %v J, %v J of it the scheduler's, in %v s", r.Scheduler, r.Joules, r.Overhead, r.Seconds)
	}
	for _, role := range []string{"app", "control-plane", "scheduler", "generator", "load", "harness"} {
		if r.CPU[role] <= 0 {
			t.Errorf("%s: got %v s of the %s", r.Scheduler, r.CPU[role], role)
		}
	}
	// A request takes at least 4 ms; failed ones may have used nothing.
	if least := .004 * float64(r.Requests); r.CPU["app"] < least/2 {
		t.Errorf("%s: got %v s of the app for %d requests", r.Scheduler, r.CPU["app"], r.Requests)
	}
	if !(0 < r.P50 && r.P50 <= r.P99 && r.P99 <= r.P999) {
		t.Errorf("%s: latencies %v, %v, %v", r.Scheduler, r.P50, r.P99, r.P999)
	}
	if n := r.Pods["slice-1"] + r.Pods["slice-2"]; n < 9-6 || n > 9+6 || r.Bound < 9 || r.Bound > 9+6 || r.Bind <= 0 {
		t.Errorf("%s: got %v pods, %d bound after %v s", r.Scheduler, n, r.Bound, r.Bind)
	}
}

// parts is what a run has besides its pods: processes and their files.
const parts = 6

// A comparison that is interrupted, or killed, leaves neither files nor processes nor ports.
func TestNothingIsLeft(t *testing.T) {
	for _, test := range []struct {
		name   string
		signal os.Signal
	}{{"interrupted", os.Interrupt}, {"killed", syscall.SIGKILL}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			process := cluster.StartProgram(t, small...)
			process.WaitFor(t, "run 1 of 2")
			for len(process.Left(t)) < parts+5 { // midway
				if process.Ended(t) {
					process.End(t)
					t.Fatalf("it ended before five pods ran:\n%s", process.Said())
				}
				time.Sleep(50 * time.Millisecond)
			}
			process.Signal(t, test.signal)
			if code := process.End(t); test.signal == os.Interrupt && code != command.ExitFailure {
				t.Errorf("exit code %d:\n%s", code, process.Said())
			}
			cluster.Eventually(t, "nothing is left", func() (bool, any) {
				left := process.Left(t)
				return len(left) == 0, left
			})
		})
	}
}

// Each part is measured in each round; with the application under load the total is larger than
// without.
func TestComponents(t *testing.T) {
	t.Parallel()
	process := cluster.StartProgram(t, "compare", "components", "--runs=1", "--duration=1s", "--warm-up=500ms", "--rate=20", "--replicas=1", "--output=json")
	if code := process.End(t); code != command.ExitOK {
		t.Fatalf("exit code %d:\n%s", code, process.Said())
	}
	process.CheckNothingLeft(t)
	var r compare.Components
	if err := json.Unmarshal(process.Stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v in %s", err, process.Stdout.String())
	}
	cores := map[string]float64{}
	for _, p := range r.Parts {
		if len(p.Cores) != 1 || len(p.Watts) != 1 || p.Cores[0] <= 0 || p.Watts[0] < 9 {
			t.Errorf("%+v", p)
			continue
		}
		cores[p.Name] = p.Cores[0]
	}
	if len(cores) != 9 || cores["application under load"] < .04 { // 20 requests a second of 4 ms each, some of which are late
		t.Errorf("%v", cores)
	}
}

// A guest with all its CPUs busy has that power, measured by itself and as a node.
func TestFollowing(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	process := cluster.StartProgram(t, "compare", "following", "--duration=6s", "--warm-up=2s", "--output=json", "--out="+out)
	if code := process.End(t); code != command.ExitOK {
		t.Fatalf("exit code %d:\n%s", code, process.Said())
	}
	process.CheckNothingLeft(t)
	var r compare.Following
	if err := json.Unmarshal(process.Stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v in %s", err, process.Stdout.String())
	}
	if len(r.Settings) != 2 {
		t.Fatalf("%+v", r)
	}
	for _, of := range r.Settings {
		busy := 0.
		for _, reading := range of.Readings {
			busy += reading.Cores
			// A guest of the host of two slices: its part of 35 W to 135 W.
			if reading.Watts < 1 || reading.Watts > 140 || reading.Seconds <= 0 {
				t.Errorf("%s: %+v", of.Name, reading)
			}
		}
		if busy <= 0 {
			t.Errorf("%s: %+v", of.Name, of.Readings)
		}
	}
	if info, err := os.Stat(filepath.Join(out, "following.png")); err != nil || info.Size() == 0 {
		t.Error(err)
	}
}

// Each guest gets its energy periodically.
func TestGuests(t *testing.T) {
	t.Parallel()
	process := cluster.StartProgram(t, "compare", "guests", "--counts=1,3", "--duration=5s", "--output=json")
	if code := process.End(t); code != command.ExitOK {
		t.Fatalf("exit code %d:\n%s", code, process.Said())
	}
	process.CheckNothingLeft(t)
	var r compare.Guests
	if err := json.Unmarshal(process.Stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v in %s", err, process.Stdout.String())
	}
	if len(r.Rows) != 2 || r.Rows[0].Guests != 1 || r.Rows[1].Guests != 3 {
		t.Fatalf("%+v", r.Rows)
	}
	for _, row := range r.Rows {
		if row.Publications < row.Guests || row.Least <= 0 || row.Most < row.Mean || row.Millicores <= 0 {
			t.Errorf("%+v", row)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct{ flag, want string }{
		{"--schedulers=other", "other"}, {"--runs=0", "--runs"}, {"--phases=sleep", "--phases"},
		{"--output=xml", "--output"}, {"--most-late=2", "MostLate"}, {"--kill=22", "Kill"},
		{"guests --counts=0", "Counts"}, {"guests --duration=1s", "Duration"}, {"components --runs=-1", "Runs"},
		{"--image=x", "--image means nothing without"}, {"--kubeconfig=x", "--image"},
		{"--kubeconfig=/nowhere --image=x", "--kubeconfig"},
		{"following --duration=0s", "--duration"}, {"--most-late=0", "--most-late"}, {"components --runs=0", "--runs"}, {"components --output=xml", "--output"}, {"guests --output=xml", "--output"},
	} {
		process := cluster.StartProgram(t, append([]string{"compare"}, strings.Fields(test.flag)...)...)
		if code := process.End(t); code != command.ExitUsage || !strings.Contains(process.Said(), test.want) {
			t.Errorf("%s: exit code %d, %s", test.flag, code, process.Said())
		}
	}
}
