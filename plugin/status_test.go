package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

func TestHandlerShowsTheState(t *testing.T) {
	c := newCluster(t, setup{nodes: 2})
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 3, K: 1.5, Limiting: "cpu", Pods: keys(0, 4), Flags: agent.Flags{Churn: true}})
	if _, status := c.schedule(newPod(9), c.infos[:1]); !status.IsSuccess() {
		t.Fatal(status)
	}
	w := httptest.NewRecorder()
	c.hub.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	var got plugin.Status
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	want := plugin.Status{
		Nodes: []plugin.NodeState{
			{Node: nodeName(0), Signal: "fresh", Avail: 3, Running: 4, K: 1.5, Limiting: "cpu", InFlight: 1, Free: 2, Slots: 1, Reason: "admitted", Flags: agent.Flags{Churn: true}},
			{Node: nodeName(1), Signal: "missing", Reason: "stale"},
		},
		Ledger: reserve.Census{Assumed: 1, Unclaimed: 4},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(plugin.NodeState{}, "Age")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w = httptest.NewRecorder()
	c.hub.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: got %d", w.Code)
	}
}

// TestAwaitFresh: a caller that waits for nodes gets the number that reported, or the reason for fewer.
func TestAwaitFresh(t *testing.T) {
	c := newCluster(t, setup{nodes: 2})
	client := c.dial()
	c.open(client, nodeName(0)).settle(agent.Report{Avail: 3})
	if err := c.hub.AwaitFresh(t.Context(), 1); err != nil {
		t.Errorf("one of two: got error %v", err)
	}
	enough := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(enough)
	if err := c.hub.AwaitFresh(ctx, 2); !errors.Is(err, enough) {
		t.Errorf("one is silent: got error %v", err)
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if err := c.hub.AwaitFresh(t.Context(), 2); err != nil {
			t.Errorf("both: %v", err)
		}
	})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 3})
	waiting.Wait()
}

func TestMetrics(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 1})
	if _, status := c.schedule(newPod(0), c.infos); !status.IsSuccess() {
		t.Fatal(status)
	}
	if _, status := c.schedule(newPod(1), c.infos); status.IsSuccess() {
		t.Fatal("found room")
	}
	w := httptest.NewRecorder()
	legacyregistry.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var ours []string
	for _, line := range strings.Split(w.Body.String(), "\n") {
		if strings.Contains(line, "spazio_") {
			ours = append(ours, line)
		}
	}
	text := strings.Join(ours, "\n")
	for _, want := range []string{
		"spazio_signal_age_seconds_count", `spazio_rejections_total{reason="no_room"}`, `spazio_rejections_total{reason="slow_start"}`,
		`spazio_reports_total{result="accepted"}`, `spazio_activations_total{cause="retry"}`, `spazio_ledger_corrections_total{kind="expired"}`,
		"spazio_free_pods", "spazio_inflight_pods", "spazio_waiting_pods", `spazio_nodes{state="missing"}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	problems, err := testutil.NewPromLinter(strings.NewReader(text + "\n")).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

// counter reads a metric that all Hubs of the process share.
func counter(t *testing.T, name string) float64 {
	t.Helper()
	w := httptest.NewRecorder()
	legacyregistry.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// TestCounters: each counts its events once.
func TestCounters(t *testing.T) {
	const refused, unknown, superseded = `spazio_rejections_total{reason="no_room"}`, `spazio_reports_total{result="unknown_node"}`, `spazio_streams_closed_total{reason="superseded"}`
	c := newCluster(t, setup{nodes: 2})
	client := c.dial()
	first := c.open(client, nodeName(0))
	first.settle(agent.Report{Avail: 0})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 0})
	before := map[string]float64{refused: counter(t, refused), unknown: counter(t, unknown), superseded: counter(t, superseded)}
	if _, status := c.schedule(newPod(0), c.infos); status.IsSuccess() {
		t.Fatal("found room")
	}
	c.open(client, nodeName(0)).settle(agent.Report{Incarnation: 2, Sequence: 1, Avail: .25})
	stranger := c.open(client, "nowhere")
	stranger.report(agent.Report{Avail: 1})
	for _, s := range []*stream{first, stranger} {
		if _, err := s.Recv(); err == nil {
			t.Fatalf("the stream of %s continues", s.node)
		}
	}
	for name, want := range map[string]float64{refused: 2, unknown: 1, superseded: 1} {
		if got := counter(t, name) - before[name]; got != want {
			t.Errorf("%s rose by %g, want %g", name, got, want)
		}
	}
}

// TestMissedDeletion: the watch breaks while a pod is deleted, so that the informer detects the
// deletion only by the pod's absence.
func TestMissedDeletion(t *testing.T) {
	watching := make(chan *watch.FakeWatcher, 10)
	bound := newPod(0, onNode(nodeName(0)))
	c := newCluster(t, setup{nodes: 1, objects: []runtime.Object{bound}, prepare: func(client *fake.Clientset) {
		client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
			w := watch.NewFake()
			watching <- w
			return true, w, nil
		})
	}})
	first := <-watching
	c.eventually("the pod is in flight", func() bool { return c.hub.Ledger().Bound == 1 })
	c.delete(bound)
	if got := c.hub.Ledger().Bound; got != 1 {
		t.Fatal("the deletion was not missed")
	}
	first.Stop()
	c.eventually("the ledger is empty", func() bool { return c.hub.Ledger() == reserve.Census{} })
}

// TestPodIsReplacedUnderItsName: deletion and creation arrive as one update.
func TestPodIsReplacedUnderItsName(t *testing.T) {
	watcher := watch.NewFake()
	old := newPod(0, onNode(nodeName(0)))
	c := newCluster(t, setup{nodes: 1, objects: []runtime.Object{old}, prepare: func(client *fake.Clientset) {
		client.PrependWatchReactor("pods", clienttesting.DefaultWatchReactor(watcher, nil))
	}})
	c.eventually("the pod is in flight", func() bool { return c.hub.Ledger().Bound == 1 })
	c.create(newPod(0, func(p *v1.Pod) { p.Name, p.UID = "x", podUID(7) }))
	watcher.Modify(newPod(0, func(p *v1.Pod) { p.UID, p.ResourceVersion = podUID(1), "99" }))
	c.eventually("the old pod is forgotten", func() bool { return c.hub.Ledger() == reserve.Census{} })
}

func TestNodeIsRecreated(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	client := c.dial()
	s := c.open(client, nodeName(0))
	s.settle(agent.Report{Incarnation: 9, Sequence: 9, Avail: 5})
	nodes := c.client.CoreV1().Nodes()
	ctx := context.Background()
	if _, status := c.schedule(newPod(0), c.infos); !status.IsSuccess() {
		t.Fatal(status)
	}
	if err := nodes.Delete(ctx, nodeName(0), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the node is gone", func() bool { return len(c.hub.Snapshot()) == 0 })
	s.report(agent.Report{Incarnation: 9, Sequence: 10, Avail: 5})
	if _, err := s.Recv(); err == nil {
		t.Error("a report of a deleted node was taken")
	}
	if _, err := nodes.Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(0)}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the node is back", func() bool { return len(c.hub.Snapshot()) == 1 })
	got := c.state(nodeName(0))
	if got.Signal != "missing" || got.InFlight != 1 {
		t.Errorf("new node: got %+v, want no signal and the pod still in flight", got)
	}
	c.open(client, nodeName(0)).settle(agent.Report{Incarnation: 1, Sequence: 1, Avail: 2})
}
