package waking

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/web"
)

// hostile is a profile's name; the API server accepts any.
const hostile = `<img src=x onerror="alert('1')">&amp;</script>`

// TestPage: another program that reads a scheduler's page gets the reasons of a grey node and of a
// waiting pod; a pod's timeline is consistent with the API server.
func TestPage(t *testing.T) {
	client, kubeconfig := cluster.Connect(t)
	args := plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: 3 * time.Second}, StalePolicy: "Reject"}
	hub, _ := cluster.StartScheduler(t, kubeconfig, args, plugin.HubOptions{})
	nodes := cluster.NewPlaceNodes(t, client, 2, 1, hub.Addr().String())
	cluster.Register(t, client, "unheard")
	full, silent := nodes[0], nodes[1]
	source, scheduler := shown(t, hub)
	// waits waits until the page is as expected.
	waits := func(what string, so func(web.State) bool) {
		t.Helper()
		cluster.Eventually(t, what, func() (bool, any) {
			state, err := source.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return so(state), state
		})
	}
	node := func(s web.State, name string) web.Node {
		for _, n := range s.Nodes {
			if n.Name == name {
				return n
			}
		}
		return web.Node{}
	}

	waits("both agents have reported", func(s web.State) bool {
		return node(s, full.Name()).Signal == web.Fresh && node(s, silent.Name()).Signal == web.Fresh
	})
	silent.KillAgent()
	waits("nodes are grey, and why", func(s web.State) bool {
		unheard, stale := node(s, "unheard"), node(s, silent.Name())
		return unheard.Signal == web.Missing && unheard.Reason == "no agent has reported" &&
			stale.Signal == web.Stale && strings.HasPrefix(stale.Reason, "no report for ")
	})
	words, err := source.Node(t.Context(), silent.Name())
	if err != nil || !strings.HasPrefix(words.Lines[0], "It takes no pod: no report for ") {
		t.Errorf("explanation: got %v, %v", words, err)
	}

	cluster.Submit(t, client, cluster.Batch{Prefix: "page", Pods: 2, Work: time.Hour})
	foreign := cluster.Batch{Prefix: "foreign", Scheduler: hostile}.Pod(0)
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var late web.Waiting
	waits("one pod waits for room, another for its scheduler", func(s web.State) bool {
		i := slices.IndexFunc(s.Waiting, func(w web.Waiting) bool { return w.Profile == service.SpazioProfile })
		other := slices.IndexFunc(s.Waiting, func(w web.Waiting) bool { return w.Profile == hostile })
		if i < 0 || other < 0 || s.WaitingTotal != 2 {
			return false
		}
		late = s.Waiting[i]
		return strings.HasPrefix(late.Reason, "none of 3 nodes has room: ") && strings.Contains(late.Reason, "node(s) without room for another pod") &&
			s.Waiting[other].Reason == "its schedulerName is "+hostile+": Spazio does not place it"
	})
	full.Set(2, false)
	waits("it no longer waits", func(s web.State) bool { return s.WaitingTotal == 1 })

	timeline := web.Timeline{}
	cluster.Eventually(t, "it has started", func() (bool, any) {
		if timeline, err = source.Pod(t.Context(), late.Namespace, late.Name); err != nil {
			t.Fatal(err)
		}
		return names(timeline) == "created tried reserved bound listed started", timeline
	})
	pod, err := client.CoreV1().Pods(late.Namespace).Get(t.Context(), late.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, timeline, pod)
	// The commands in a terminal show the same.
	for _, format := range []string{"table", "json"} {
		var out, errs bytes.Buffer
		if code := spazioctl.Main(t.Context(), []string{"explain", late.Name, "--url", scheduler, "-o", format}, &out, &errs); code != 0 {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
		if format == "json" {
			var e plugin.Explanation
			if err := json.Unmarshal(out.Bytes(), &e); err != nil || len(e.Steps) != len(timeline.Steps) || e.Steps[1].Tries.Count < 2 {
				t.Errorf("%v in %s", err, out.String())
			}
			continue
		}
		for _, s := range timeline.Steps {
			if !strings.Contains(out.String(), "\n"+s.Name+" ") {
				t.Errorf("no %s in\n%s", s.Name, out.String())
			}
		}
	}
}

// shown serves a Hub as a scheduler does, and returns what another program reads there, and its
// address.
func shown(t *testing.T, hub *plugin.Hub) (web.Source, string) {
	t.Helper()
	p, err := page.New(web.Config{Source: page.NewSource(hub, page.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(plugin.DebugPath, hub.Handler())
	for pattern, handler := range p.Handlers() {
		mux.Handle(pattern, handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	through, err := podforward.DirectClient(server.URL, cluster.Patience)
	if err != nil {
		t.Fatal(err)
	}
	return web.NewRelayClient(through.Get, page.SourcePath), server.URL
}

func names(l web.Timeline) string {
	var all []string
	for _, s := range l.Steps {
		all = append(all, s.Name)
	}
	return strings.Join(all, " ")
}

// check compares a timeline with the API server's pod.
func check(t *testing.T, l web.Timeline, pod *corev1.Pod) {
	t.Helper()
	created, started := pod.CreationTimestamp.Time, pod.Status.ContainerStatuses[0].State.Running.StartedAt.Time
	if l.Node != pod.Spec.NodeName || l.Profile != pod.Spec.SchedulerName || !l.Steps[0].At.Equal(created) || !l.Steps[5].At.Equal(started) {
		t.Errorf("got %+v of a pod of %s on %s, created at %v and started at %v", l, pod.Spec.SchedulerName, pod.Spec.NodeName, created, started)
	}
	// Steps with fractional seconds are in order, and none precedes the pod's creation.
	for i, s := range l.Steps[1:5] {
		if s.At.Before(l.Steps[i].At) {
			t.Errorf("%s at %v, %s at %v", l.Steps[i].Name, l.Steps[i].At, s.Name, s.At)
		}
	}
	if detail := l.Steps[1].Detail; !strings.Contains(detail, "no room in ") || !strings.Contains(detail, "stale in ") {
		t.Errorf("got attempts %s", detail)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && l.Steps[3].At.Sub(c.LastTransitionTime.Time).Abs() > time.Minute {
			t.Errorf("got bound at %v, want scheduled at %v", l.Steps[3].At, c.LastTransitionTime)
		}
	}
}
