package demo

import (
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	e2e "github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
)

// A process can run one control plane, so each demo is a child process of the test binary.
func TestMain(m *testing.M) {
	e2e.RunProgram(Main)
	os.Exit(m.Run())
}

func TestDemoEndToEnd(t *testing.T) {
	process := e2e.StartProgram(t, "--pods=24", "--cpu-seconds=2", "--nodes=3", "--time-scale=10", "--unlike=false", "--output=json")
	if code := process.End(t); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, process.Said())
	}
	var result demoResult
	if err := json.Unmarshal(process.Stdout.Bytes(), &result); err != nil {
		t.Fatalf("%v in %s", err, process.Stdout.String())
	}
	if len(result.Simulated) != 2 {
		t.Fatalf("got %d columns, want 2", len(result.Simulated))
	}
	for i, profile := range []string{spazioProfile, defaultProfile} {
		s := result.Simulated[i]
		if s.Profile != profile || s.Pods != 24 || s.Failed != 0 {
			t.Errorf("column %d: %s completed %d pods, %d failed; want %s, 24, 0", i, s.Profile, s.Pods, s.Failed, profile)
		}
		// 24 pods of 2 s on 12 cores take two rounds, which end after 2 and 4 s at the earliest.
		if s.Sojourn.Mean < 3 || result.Paces[i].Profile != profile || result.Paces[i].LeastSojourn != 3 {
			t.Errorf("%s: got a mean sojourn of %g s, want at least 3; %+v", profile, s.Sojourn.Mean, result.Paces)
		}
		if s.RunTime.P50 < 1.99 || s.Makespan < 4 || s.Sojourn.Mean <= s.RunTime.Mean || s.SlowdownP99 < .99 {
			t.Errorf("%s: got impossible figures %+v", profile, s)
		}
	}
	if result.Config.CPUSeconds != 2 || result.Config.Nodes != 3 {
		t.Errorf("the configuration is missing in the result: %+v", result)
	}
	process.CheckNothingLeft(t)
}

// The second part runs the same pods three times, the second time with their profiles, and all of them
// complete.
func TestUnlikeOwners(t *testing.T) {
	process := e2e.StartProgram(t, "--pods=100", "--cpu-seconds=2", "--nodes=2", "--time-scale=10", "--output=json")
	if code := process.End(t); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, process.Said())
	}
	var result demoResult
	if err := json.Unmarshal(process.Stdout.Bytes(), &result); err != nil {
		t.Fatalf("%v in %s", err, process.Stdout.String())
	}
	u := result.Unlike
	if u == nil || len(u.Owners) != 4 || len(u.Runs) != 3 || len(result.Simulated) != 2 {
		t.Fatalf("got %+v, want four owners' pods, three times", u)
	}
	for i, want := range []struct {
		profile string
		known   bool
	}{{spazioProfile, false}, {spazioProfile, true}, {defaultProfile, false}} {
		r := u.Runs[i]
		if r.Profile != want.profile || r.Known != want.known || r.Pods != 40 || r.Failed != 0 {
			t.Errorf("run %d: %s, known %v, %d completed, %d failed; want %+v and 40", i, r.Profile, r.Known, r.Pods, r.Failed, want)
		}
		kills := 0
		for k, o := range r.Owners {
			if kills += o.Kills; o.Pods != 10 || o.Sojourn.Mean < 4 { // each runs alone for 4 s
				t.Errorf("run %d, %s: got %d completed, after %g s on average", i, u.Owners[k].Name, o.Pods, o.Sojourn.Mean)
			}
		}
		if kills != r.Kills {
			t.Errorf("run %d: got %d kills, of owners %d", i, r.Kills, kills)
		}
	}
	process.CheckNothingLeft(t)
}

func TestInterruptLeavesNothing(t *testing.T) {
	for _, moment := range []string{"", "kubectl", "nodes", "scheduler", " done, 1"} {
		t.Run("after "+moment, func(t *testing.T) {
			process := e2e.StartProgram(t, "--pods=60", "--cpu-seconds=20", "--nodes=2")
			server := ""
			if moment != "" {
				line := process.WaitFor(t, "kubectl")
				server = serverOf(t, strings.Fields(line)[2])
				if !strings.Contains(line, moment) {
					process.WaitFor(t, moment)
				}
			}
			process.Signal(t, os.Interrupt)
			if code := process.End(t); code != 1 && moment != "" {
				t.Errorf("exit code %d, want 1", code)
			}
			if moment != "" && !strings.HasSuffix(process.Said(), "spazio-demo: interrupted\n") {
				t.Errorf("last output:\n%s", process.Said())
			}
			if server != "" {
				if conn, err := net.Dial("tcp", server); !errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("port %s after the end: %v, %v", server, conn, err)
				}
			}
			process.CheckNothingLeft(t)
		})
	}
}

// serverOf returns the host and port in a kubeconfig.
func serverOf(t *testing.T, kubeconfig string) string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	return address.Host
}

func TestDemoRefuses(t *testing.T) {
	existing := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(existing, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	_, port, err := net.SplitHostPort(busy.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no pods", []string{"--pods=0"}, command.ExitUsage, "--pods 0: want at least 1"},
		{"unknown output", []string{"--output=xml"}, command.ExitUsage, "--output xml: want table or json"},
		{"no time", []string{"--time-scale=0"}, command.ExitUsage, "--time-scale 0"},
		{"unknown profile", []string{"--profiles=other"}, command.ExitUsage, "--profiles other"},
		{"busy port", []string{"--web=127.0.0.1:" + port}, command.ExitFailure, "address already in use"},
		{"somebody's kubeconfig", []string{"--kubeconfig", existing}, command.ExitFailure, existing},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			process := e2e.StartProgram(t, test.args...)
			if code := process.End(t); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			last := lastLine(process.Said())
			if !strings.HasPrefix(last, "spazio-demo: ") || !strings.Contains(last, test.want) {
				t.Errorf("last line %q, want %q in it", last, test.want)
			}
			process.CheckNothingLeft(t)
		})
	}
	if text, err := os.ReadFile(existing); err != nil || string(text) != "mine" {
		t.Errorf("existing kubeconfig: got %q, %v", text, err)
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
