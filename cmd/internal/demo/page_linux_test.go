package demo

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	e2e "github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/web"
)

// TestPageAgreesWithTheCluster: the page's runs equal the API server's pods, to whole seconds, and the
// table.
func TestPageAgreesWithTheCluster(t *testing.T) {
	const pods = 24
	kubeconfig := t.TempDir() + "/kubeconfig"
	process := e2e.StartProgram(t, "--pods=24", "--cpu-seconds=1", "--nodes=3", "--output=json", "--keep", "--web", "--unlike=false", "--kubeconfig="+kubeconfig)
	address := strings.TrimPrefix(process.WaitFor(t, "the page: "), "the page: ")
	// The page is served before the cluster exists.
	if response, err := http.Get(address); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v %v", address, response, err)
	}
	process.WaitFor(t, "and so is the page")
	var state web.State
	response, err := http.Get(strings.TrimSuffix(address, "/") + page.SourcePath + "/state")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&state); err != nil {
		t.Fatal(err)
	}
	if len(state.Nodes) != 3 || state.WaitingTotal != 0 || len(state.Runs) != 2 {
		t.Fatalf("%d nodes, %d waiting, %d runs", len(state.Nodes), state.WaitingTotal, len(state.Runs))
	}
	ended := endsInAPI(t, kubeconfig)
	for i, profile := range []string{spazioProfile, defaultProfile} {
		run, want := state.Runs[i], ended[profile]
		if run.Profile != profile || !run.Ended || run.Done != pods || run.Failed != 0 || len(run.Completions) != pods || len(want) != pods || run.Resolution != 0 {
			t.Fatalf("run %d: %s, ended %v, %d done, %d failed, %d completions, %d in the API", i, run.Profile, run.Ended, run.Done, run.Failed, len(run.Completions), len(want))
		}
		var got []time.Time
		for _, c := range run.Completions {
			got = append(got, run.Started.Add(c.Since))
		}
		slices.SortFunc(got, time.Time.Compare)
		for k, at := range got {
			if late := at.Sub(want[k]); late < 0 || late >= time.Second {
				t.Errorf("%s: pod %d: got end %v, want within the second from %v as in the API", profile, k, at, want[k])
			}
		}
	}
	process.Signal(t, syscall.SIGINT)
	if code := process.End(t); code != command.ExitOK {
		t.Fatalf("exit code %d:\n%s", code, process.Said())
	}
	var result demoResult
	if err := json.Unmarshal(process.Stdout.Bytes(), &result); err != nil {
		t.Fatalf("%v in %s", err, process.Stdout.String())
	}
	// On a machine that was too slow the table has no verdict, and the page compares nothing.
	if refused := strings.Contains(result.table(), "No verdict"); state.Comparable == refused {
		t.Errorf("got comparable runs %v on the page, table:\n%s", state.Comparable, result.table())
	}
	for i, run := range state.Runs {
		last, sojourn := 0., 0.
		for _, c := range run.Completions {
			last, sojourn = max(last, c.Since.Seconds()), sojourn+c.Took.Seconds()/pods
		}
		if s := result.Simulated[i].batchSummary; math.Abs(last-s.Makespan) > 1e-6 || math.Abs(sojourn-s.Sojourn.Mean) > 1e-6 {
			t.Errorf("%s: got makespan %v s and mean %v s on the page, %v and %v in the table", run.Profile, last, sojourn, s.Makespan, s.Sojourn.Mean)
		}
	}
	process.CheckNothingLeft(t)
}

// endsInAPI returns when the pods' containers ended, by profile, in order, in whole seconds.
func endsInAPI(t *testing.T, kubeconfig string) map[string][]time.Time {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(map[string][]time.Time)
	for _, pod := range list.Items {
		if pod.Status.Phase != corev1.PodSucceeded {
			t.Errorf("%s is %s", pod.Name, pod.Status.Phase)
			continue
		}
		at := pod.Status.ContainerStatuses[0].State.Terminated.FinishedAt.Time
		ended[pod.Spec.SchedulerName] = append(ended[pod.Spec.SchedulerName], at)
	}
	for _, times := range ended {
		slices.SortFunc(times, time.Time.Compare)
	}
	return ended
}

// TestPageWithoutATerminal ends with the demo, with a message; an address beyond loopback is refused
// before anything starts.
func TestPageWithoutATerminal(t *testing.T) {
	process := e2e.StartProgram(t, "--pods=2", "--cpu-seconds=1", "--nodes=1", "--time-scale=10", "--profiles=spazio", "--web", "--unlike=false")
	if code := process.End(t); code != command.ExitOK || !strings.Contains(process.Said(), "the page ends with the demo") {
		t.Errorf("exit code %d:\n%s", code, process.Said())
	}
	process = e2e.StartProgram(t, "--web=0.0.0.0:0")
	if code := process.End(t); code != command.ExitUsage || strings.Contains(process.Said(), "control plane") {
		t.Errorf("beyond loopback: exit code %d:\n%s", code, process.Said())
	}
}
