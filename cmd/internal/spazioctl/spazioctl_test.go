package spazioctl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/deploy/check"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward/podforwardtest"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

func status() plugin.Status {
	return plugin.Status{
		Nodes: []plugin.NodeState{
			{Node: "worker-1", Signal: "fresh", Age: 340 * time.Millisecond, Avail: 7.25, Running: 12, K: 3, Limiting: "cpu", InFlight: 2, Free: 5.25, Slots: 5, Reason: "admitted"},
			{Node: "worker-10", Signal: "fresh", Age: 20500 * time.Millisecond, Avail: .5, Running: 30, K: .2, Limiting: "memory", InFlight: 0, Free: .5, Reason: "no room",
				Flags: agent.Flags{Churn: true, CostUnknown: true}},
			{Node: "éloigné", Signal: "missing", Reason: "admitted", Slots: reserve.MaxSlots},
		},
		Ledger: reserve.Census{Assumed: 1, Bound: 1, Confirmed: 42}, Waiting: 3,
	}
}

func explanation() plugin.Explanation {
	score, half := int64(100), int64(50)
	s := status().Nodes
	s[0].Channels = []plugin.ChannelState{{Name: "cpu", Usage: .41, Capacity: .9, Cost: .034}}
	created := time.Date(2026, 5, 4, 3, 1, 58, 0, time.UTC)
	tried := created.Add(250 * time.Millisecond)
	return plugin.Explanation{
		Steps: []plugin.Step{
			{Name: "created", At: &created, WholeSeconds: true},
			{Name: "tried", At: &tried, Tries: &plugin.Tries{Count: 12, Last: created.Add(3 * time.Second),
				Refusals: []plugin.RefusalClass{{Reason: "no room", Tries: 11, Nodes: 3}}}},
		},
		Pod: "shop/cart", UID: "3f1c0e52-9a7b-4c11-8f00-1a2b3c4d5e6f", Profile: "spazio", Ours: true, State: "waiting",
		Attempt: &plugin.Attempt{At: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Nodes: 3,
			Refusals: []plugin.Refusal{{Nodes: 3, Message: "node(s) without room for another pod, shortest in cpu"}}},
		Unscheduled: "0/3 nodes are available: 3 node(s) had untolerated taint(s).",
		Nodes:       []plugin.NodeVerdict{{NodeState: s[1]}, {NodeState: s[2], Score: &half}, {NodeState: s[0], Score: &score}},
	}
}

// profiled returns a pod of a profiled workload.
func profiled(pod string) plugin.Explanation {
	e := explanation()
	e.Pod, e.Workload = pod, &plugin.WorkloadState{
		Workload: "shop/Deployment/cart", Source: "profile",
		CPU:    plugin.ShareState{Amount: .25, SD: .05, Confidence: .9375},
		Memory: plugin.ShareState{Amount: 3 << 30, SD: 1 << 29, Confidence: 1},
	}
	e.Nodes[0].ByProfile, e.Nodes[1].ByProfile, e.Nodes[2].ByProfile = "admitted", "admitted", "no memory"
	e.Nodes[2].Takes, e.Nodes[2].Binding = map[string]float64{"cpu": .5, "memory": 3}, "memory"
	return e
}

// debug is a scheduler's debug address below prefix.
func debug(t *testing.T, prefix string) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+prefix+plugin.DebugPath, func(w http.ResponseWriter, r *http.Request) {
		var answer any = status()
		switch pod := r.URL.Query().Get("pod"); pod {
		case "":
		case "shop/cart", "3f1c0e52-9a7b-4c11-8f00-1a2b3c4d5e6f":
			answer = explanation()
		case "shop/mistyped":
			e := explanation()
			e.Pod, e.Profile, e.Ours, e.State, e.Attempt, e.Unscheduled = pod, "spatzio", false, "exempt", nil, ""
			answer = e
		case "shop/known":
			answer = profiled(pod)
		default:
			http.Error(w, "no such pod", http.StatusNotFound)
			return
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	})
	return mux
}

func serveOn(t *testing.T, handler http.Handler) string {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// run executes spazio with the arguments.
func run(ctx context.Context, args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = spazioctl.Main(ctx, args, &o, &e)
	return code, o.String(), e.String()
}

func TestTables(t *testing.T) {
	url := serveOn(t, debug(t, ""))
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"all", []string{"top"}, `
3 nodes; 3 pods waiting, 2 in flight (1 assumed, 1 bound), 42 counted
NODE       SIGNAL     AGE  AVAIL  INFLIGHT  FREE  SLOTS  PODS    K  SHORTEST  VERDICT   DOUBTS
worker-1   fresh    300ms    7.2       2.0   5.2      5    12  3.0  cpu       admitted
worker-10  fresh      21s    0.5       0.0   0.5      0    30  0.2  memory    no room   churn,cost-unknown
éloigné    missing      -      -       0.0     -    any     -    -  -         admitted
`},
		{"oldest first", []string{"top", "--sort=age", "--limit=2"}, `
2 nodes; 3 pods waiting, 2 in flight (1 assumed, 1 bound), 42 counted
NODE       SIGNAL   AGE  AVAIL  INFLIGHT  FREE  SLOTS  PODS    K  SHORTEST  VERDICT   DOUBTS
éloigné    missing    -      -       0.0     -    any     -    -  -         admitted
worker-10  fresh    21s    0.5       0.0   0.5      0    30  0.2  memory    no room   churn,cost-unknown
`},
		{"filtered", []string{"top", "--node=^worker-10"}, `
1 node; 3 pods waiting, 2 in flight (1 assumed, 1 bound), 42 counted
NODE       SIGNAL  AGE  AVAIL  INFLIGHT  FREE  SLOTS  PODS    K  SHORTEST  VERDICT  DOUBTS
worker-10  fresh   21s    0.5       0.0   0.5      0    30  0.2  memory    no room  churn,cost-unknown
`},
		{"explain", []string{"explain", "cart", "-n", "shop"}, `
pod shop/cart (3f1c0e52-9a7b-4c11-8f00-1a2b3c4d5e6f) of profile spazio is waiting
last attempt at 2026-05-04T03:02:01Z: 0 of 3 nodes admitted it, 3 node(s) without room for another pod, shortest in cpu
the scheduler with all its plugins: 0/3 nodes are available: 3 node(s) had untolerated taint(s).
STEP     AT                        AFTER  DETAIL
created  2026-05-04T03:01:58Z         0s
tried    2026-05-04T03:01:58.250Z  250ms  12 times, last at 2026-05-04T03:02:01.000Z; no room in 11 (3 nodes)
NODE       SCORE  AVAIL  INFLIGHT  FREE    AGE  VERDICT   SHORTEST  CHANNELS                DOUBTS
worker-1     100    7.2       2.0   5.2  300ms  admitted  cpu       cpu 41%, C 90%, c 3.4%
éloigné       50      -       0.0     -      -  admitted  -         -
worker-10      -    0.5       0.0   0.5    21s  no room   memory    -                       churn,cost-unknown
`},
		{"explain another scheduler's", []string{"explain", "mistyped", "-n", "shop"}, `
pod shop/mistyped (3f1c0e52-9a7b-4c11-8f00-1a2b3c4d5e6f) is another scheduler's
its schedulerName is spatzio: Spazio does not place it
no scheduling attempt is remembered
STEP     AT                        AFTER  DETAIL
created  2026-05-04T03:01:58Z         0s
tried    2026-05-04T03:01:58.250Z  250ms  12 times, last at 2026-05-04T03:02:01.000Z; no room in 11 (3 nodes)
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, errs := run(t.Context(), append(test.args, "--url", url)...)
			if code != command.ExitOK || errs != "" {
				t.Fatalf("got exit code %d, stderr %q", code, errs)
			}
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), out); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The room of a node that counts in resources is shown by resource.
func TestTopShowsRooms(t *testing.T) {
	cores, bytes := 1.25, 12.5*(1<<30)
	s := status()
	s.Nodes[0].Cores, s.Nodes[0].Bytes = &cores, &bytes
	url := serveOn(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(s); err != nil {
			t.Error(err)
		}
	}))
	code, out, errs := run(t.Context(), "top", "--url", url)
	want := `3 nodes; 3 pods waiting, 2 in flight (1 assumed, 1 bound), 42 counted
NODE       SIGNAL     AGE  AVAIL  INFLIGHT  FREE  SLOTS  CORES   GIB  PODS    K  SHORTEST  VERDICT   DOUBTS
worker-1   fresh    300ms    7.2       2.0   5.2      5    1.2  12.5    12  3.0  cpu       admitted
worker-10  fresh      21s    0.5       0.0   0.5      0      -     -    30  0.2  memory    no room   churn,cost-unknown
éloigné    missing      -      -       0.0     -    any      -     -     -    -  -         admitted
`
	if diff := cmp.Diff(want, out); code != command.ExitOK || diff != "" {
		t.Errorf("got exit code %d, stderr %q (-want +got):\n%s", code, errs, diff)
	}
}

// powered returns a status with known power.
func powered() plugin.Status {
	s, good := status(), 2.0
	s.Nodes[0].Energy = &plugin.NodeEnergy{
		Quality: "measured", Watts: 81.25, SD: 1.5, Max: 120, Idle: 40, Marginal: 10, Busy: 4.125, InFlightCores: .5, Joules: 1e6, Goodness: &good,
	}
	s.Nodes[1].Energy = &plugin.NodeEnergy{Quality: "modelled", Watts: 1e6, SD: 1e6, Max: 1e6, Idle: 1e6, Marginal: 1e6, Busy: 4096, InFlightCores: 4096, Flags: "partial,extrapolated,ratio-split,gap,projected"}
	s.Energy = &plugin.EnergyStatus{Objective: "Marginal", Cores: .5, Workloads: []energy.WorkloadEstimate{
		{Workload: "shop/Deployment/cart", Estimate: energy.Estimate{Cores: .52, Watts: 6.25, SD: .5, Pods: 3, Known: true, Joules: 123456}},
		{Workload: strings.Repeat("n", 63) + "/Deployment/" + strings.Repeat("w", 63), Estimate: energy.Estimate{Watts: .001, Known: true}},
	}}
	return s
}

func answering(t *testing.T, with any) string {
	return serveOn(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(with); err != nil {
			t.Error(err)
		}
	}))
}

func TestTopShowsEnergy(t *testing.T) {
	url := answering(t, powered())
	code, out, errs := run(t.Context(), "top", "--energy", "--url", url)
	if code != command.ExitOK || errs != "" {
		t.Fatalf("got exit code %d, stderr %q", code, errs)
	}
	for _, part := range []string{
		"NODE       ", "worker-1  ", "  81.2  ", "  120.0  ", "  2.00  measured\n", "modelled",
		"G is for a pod of 0.5 cores (Marginal)", "shop/Deployment/cart  ", "     3   0.52   6.25  0.50  123456\n",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("no %q in\n%s", part, out)
		}
	}
	for line := range strings.Lines(out) {
		if len([]rune(line)) > 121 {
			t.Errorf("wider than 120 columns: %s", line)
		}
	}
	_, out, _ = run(t.Context(), "top", "--energy", "--node=10$", "-o", "json", "--url", url)
	var got plugin.Status
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	want := powered()
	want.Nodes = want.Nodes[1:2]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if code, out, _ := run(t.Context(), "top", "--energy", "--url", answering(t, status())); code != command.ExitOK || !strings.HasPrefix(out, "no node reports its power\n") {
		t.Errorf("exit code %d without energy:\n%s", code, out)
	}
}

func TestExplainsEnergy(t *testing.T) {
	e := explanation()
	e.Nodes[2].Energy = powered().Nodes[0].Energy
	e.Energy = &powered().Energy.Workloads[0]
	code, out, errs := run(t.Context(), "explain", "shop/cart", "--wide", "--url", answering(t, e))
	for _, part := range []string{
		"a pod of its workload shop/Deployment/cart takes 0.52 cores and 6.25 ± 0.5 W, by 3 of them; they took 123456 J since the scheduler started\n",
		"\nworker-1   81.2  1.5  120.0  40.0    10.0   4.1       0.5  2.00  measured\n",
	} {
		if code != command.ExitOK || !strings.Contains(out, part) {
			t.Errorf("got exit code %d, stderr %q, want %q in\n%s", code, errs, part, out)
		}
	}
}

func TestExplainsTheWorkload(t *testing.T) {
	url := serveOn(t, debug(t, ""))
	code, out, errs := run(t.Context(), "explain", "shop/known", "--wide", "--url", url)
	for _, part := range []string{
		"its workload shop/Deployment/cart takes 0.25 ± 0.05 cores (confidence 0.94) and 3 ± 0.5 GiB (1)",
		"admitted (no memory)", "no room (admitted)", "admitted              -", "memory 3, cpu 0.5",
	} {
		if code != command.ExitOK || !strings.Contains(out, part) {
			t.Errorf("got exit code %d, stderr %q, want %q in\n%s", code, errs, part, out)
		}
	}
}

func TestJSON(t *testing.T) {
	url := serveOn(t, debug(t, ""))
	code, out, errs := run(t.Context(), "explain", "3f1c0e52-9a7b-4c11-8f00-1a2b3c4d5e6f", "-o", "json", "--node=worker-1$", "--url", url)
	var got plugin.Explanation
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != command.ExitOK {
		t.Fatalf("%d %v %s", code, err, errs)
	}
	want := explanation()
	want.Nodes = want.Nodes[2:]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// lines forwards what is written, and fails once its channel is closed.
type lines struct {
	got  chan string
	done <-chan struct{}
}

func (l lines) Write(p []byte) (int, error) {
	select {
	case l.got <- string(p):
		return len(p), nil
	case <-l.done:
		return 0, errors.New("nobody listens")
	}
}

// TestWatch continues after the scheduler failed to answer once.
func TestWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var requests atomic.Int32
	healthy := debug(t, "")
	url := serveOn(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 2 {
			http.Error(w, "starting\x1b[2J", http.StatusServiceUnavailable)
			return
		}
		healthy.ServeHTTP(w, r)
	}))
	out := lines{got: make(chan string), done: ctx.Done()}
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- spazioctl.Main(ctx, []string{"top", "--watch=1ms", "-o", "json", "--url", url}, out, &errs)
	}()
	for range 2 {
		line := <-out.got
		var got plugin.Status
		if err := json.Unmarshal([]byte(line), &got); err != nil || strings.Count(line, "\n") != 1 {
			t.Errorf("%v in %q", err, line)
		}
	}
	cancel()
	if got := <-code; !strings.Contains(errs.String(), "starting\ufffd[2J\n") {
		t.Errorf("got exit code %d, stderr %q", got, errs.String())
	}
}

// led makes an API server return the holder of the schedulers' lease.
func led(t *testing.T, mux *http.ServeMux, namespace string, holder func() string) {
	mux.HandleFunc("GET /apis/coordination.k8s.io/v1/namespaces/"+namespace+"/leases/spazio-scheduler", func(w http.ResponseWriter, _ *http.Request) {
		holder := holder()
		lease := coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
		lease.APIVersion, lease.Kind = "coordination.k8s.io/v1", "Lease"
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(lease); err != nil {
			t.Error(err)
		}
	})
}

// TestThroughTheAPIServer uses a fake API server with a lease, a list of pods, and port forwarding to
// pods.
func TestThroughTheAPIServer(t *testing.T) {
	mux := http.NewServeMux()
	scheduler := serveOn(t, debug(t, ""))
	why := http.NewServeMux()
	why.HandleFunc("GET /debug/why", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "worker-1 has room for 7.2 pods", r.FormValue("format"))
	})
	podforwardtest.Forward(t, mux, "system", "scheduler-b", 9694, strings.TrimPrefix(scheduler, "http://"))
	podforwardtest.Forward(t, mux, "closed", "scheduler-c", 1, "")
	podforwardtest.Forward(t, mux, "agents", "agent-2", 9691, strings.TrimPrefix(serveOn(t, why), "http://"))
	podforwardtest.Forward(t, mux, "system", "aggregator-b", 9693, strings.TrimPrefix(aggregator(t, local("a", "cpu,memory", 0, 2)), "http://"))
	ready := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	mux.HandleFunc("GET /api/v1/namespaces/system/pods", func(w http.ResponseWriter, r *http.Request) {
		pods := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
		if r.FormValue("fieldSelector") == "" && r.FormValue("labelSelector") == "app.kubernetes.io/name=spazio-aggregator" {
			pods.Items = []corev1.Pod{
				{ObjectMeta: metav1.ObjectMeta{Name: "aggregator-a"}},
				{ObjectMeta: metav1.ObjectMeta{Name: "aggregator-b"}, Status: ready},
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(pods); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("GET /api/v1/namespaces/agents/pods", func(w http.ResponseWriter, r *http.Request) {
		pods := corev1.PodList{}
		pods.APIVersion, pods.Kind = "v1", "PodList"
		if r.FormValue("fieldSelector") == "spec.nodeName=worker-1" && r.FormValue("labelSelector") == "app.kubernetes.io/name=spazio-agent" {
			now := metav1.Now()
			pods.Items = []corev1.Pod{
				{ObjectMeta: metav1.ObjectMeta{Name: "agent-1", DeletionTimestamp: &now}},
				{ObjectMeta: metav1.ObjectMeta{Name: "agent-2"}},
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(pods); err != nil {
			t.Error(err)
		}
	})
	led(t, mux, "system", func() string { return "scheduler-b_0b3f6f0e-4f4e-4f0e-9d8c-000000000000" })
	led(t, mux, "closed", func() string { return "scheduler-c" })
	led(t, mux, "forbidden", func() string { return "others" })
	where := []string{"--kubeconfig", transporttest.Kubeconfig(t, serveOn(t, mux), "shop")}
	system, agents := "--spazio-namespace=system", "--spazio-namespace=agents"
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"the leader":         {[]string{"top", system}, "worker-10"},
		"a pod":              {[]string{"explain", "shop/cart", system}, "waiting"},
		"no lease":           {[]string{"top", "--spazio-namespace=other"}, "find the leader"},
		"no such pod":        {[]string{"explain", "shop/other", system}, "404"},
		"no such port":       {[]string{"top", "--spazio-namespace=closed"}, "ask port 9694 in namespace closed"},
		"no permission":      {[]string{"top", "--spazio-namespace=forbidden"}, "forward port 9694 of pod others"},
		"an agent":           {[]string{"why", "worker-1", agents}, "has room for 7.2 pods text"},
		"in JSON":            {[]string{"why", "worker-1", agents, "-o", "json"}, "has room for 7.2 pods json"},
		"no agent":           {[]string{"why", "worker-2", agents}, "no pod runs there"},
		"a ready aggregator": {[]string{"model", "--spazio-namespace=system"}, "schema cpu,memory"},
		"no aggregator":      {[]string{"model", "--spazio-namespace=agents"}, "no pod runs there"},
		"no node":            {[]string{"why", agents}, "NODE is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, out, errs := run(t.Context(), append(test.args, where...)...)
			if !strings.Contains(out+errs, test.want) {
				t.Errorf("printed %q, said %q, want %q", out, errs, test.want)
			}
		})
	}
}

// spazio check reads what this scheduler exports.
func TestCheckReadsTheScheduler(t *testing.T) {
	mux := http.NewServeMux()
	podforwardtest.Forward(t, mux, "spazio-system", "scheduler-b", 9694, strings.TrimPrefix(serveOn(t, debug(t, "")), "http://"))
	mux.HandleFunc("GET /apis/coordination.k8s.io/v1/namespaces/spazio-system/leases/spazio-scheduler", func(w http.ResponseWriter, _ *http.Request) {
		lease := coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new("scheduler-b")}}
		lease.APIVersion, lease.Kind = "coordination.k8s.io/v1", "Lease"
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(lease); err != nil {
			t.Error(err)
		}
	})
	programs, err := check.NewPrograms(&rest.Config{Host: serveOn(t, mux)}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	signals, err := programs.Signals(t.Context())
	want := []check.Signal{{Node: "worker-1", Fresh: true, State: "fresh"}, {Node: "worker-10", Fresh: true, State: "fresh"}, {Node: "éloigné", State: "missing"}}
	slices.SortFunc(signals, func(a, b check.Signal) int { return strings.Compare(a.Node, b.Node) })
	if diff := cmp.Diff(want, signals); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	waiting := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: explanation().UID}}
	if listed, err := programs.Listed(t.Context(), waiting); err != nil || listed {
		t.Errorf("waiting pod: got listed %v, %v", listed, err)
	}
}

func TestRefusals(t *testing.T) {
	url := serveOn(t, debug(t, ""))
	for name, test := range map[string]struct {
		args     []string
		code     int
		wantText string
	}{
		"order":       {[]string{"top", "--sort=size"}, command.ExitUsage, "--sort"},
		"expression":  {[]string{"top", "--node=("}, command.ExitUsage, "--node"},
		"format":      {[]string{"top", "-o", "xml"}, command.ExitUsage, "--output"},
		"limit":       {[]string{"explain", "x", "--limit=-1"}, command.ExitUsage, "--limit"},
		"interval":    {[]string{"top", "--watch=-1s"}, command.ExitUsage, "--watch"},
		"timeout":     {[]string{"top", "--timeout=0"}, command.ExitUsage, "--timeout"},
		"URL":         {[]string{"top", "--url=127.0.0.1:1"}, command.ExitUsage, "--url"},
		"kubeconfig":  {[]string{"top", "--kubeconfig=/nowhere/x"}, command.ExitUsage, "--kubeconfig"},
		"arguments":   {[]string{"top", "x"}, command.ExitUsage, "unknown command"},
		"no pod":      {[]string{"explain"}, command.ExitUsage, "accepts 1 arg"},
		"unknown pod": {[]string{"explain", "x", "--url", url}, command.ExitFailure, "no such pod"},
		"nobody":      {[]string{"top", "--url=http://127.0.0.1:1"}, command.ExitFailure, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := run(t.Context(), test.args...)
			if code != test.code || out != "" || !strings.Contains(errs, test.wantText) || strings.Count(errs, "\n") != 1 {
				t.Errorf("got exit code %d, stdout %q, stderr %q; want %d and one line with %q", code, out, errs, test.code, test.wantText)
			}
		})
	}
}
