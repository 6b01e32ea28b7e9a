package requestreport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward/podforwardtest"
)

// forwardPath is where an agent's port is forwarded from.
func forwardPath(pod string) string {
	return "POST /api/v1/namespaces/" + deploy.AgentNamespace + "/pods/" + pod + "/portforward"
}

// spans are those of the node near, and the notes that name it or count nodes.
func spans(t *testing.T, c Config) (n int, notes string) {
	t.Helper()
	r := gather(t, c)
	for _, note := range r.Notes {
		if strings.Contains(note, "stopped answering") || strings.Contains(note, "Interrupted") {
			notes += note
		}
	}
	return r.Nodes[1].Spans, notes
}

// An agent that has never answered is asked once a minute, which does not hold up the others, and a line a
// minute shows how far it is.
func TestSilentAgentsAreAskedRarely(t *testing.T) {
	var asked atomic.Int64
	var progress strings.Builder
	c := Config{For: 190 * time.Second, Progress: &progress, Cluster: server(t, func(times int) any { return why(times) }, func(mux *http.ServeMux) {
		mux.HandleFunc(forwardPath("agent-far"), func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			http.Error(w, "no", http.StatusNotFound)
		})
	})}
	if n, _ := spans(t, c); n != 20 || asked.Load() != 4 {
		t.Errorf("%d spans of one node, and the silent agent was asked %d times", n, asked.Load())
	}
	const lines = "0s of 3m10s: 1 of 2 agents answer\n1m0s of 3m10s: 1 of 2 agents answer\n2m0s of 3m10s: 1 of 2 agents answer\n3m0s of 3m10s: 1 of 2 agents answer\n"
	if progress.String() != lines {
		t.Errorf("progress %q", progress.String())
	}
}

// Agents are asked for as long as was asked for, however long a round takes.
func TestSlowRoundsDoNotTakeLonger(t *testing.T) {
	var now, asked atomic.Int64 // seconds after noon
	c := Config{Timeout: time.Minute, For: time.Minute, Cluster: server(t, func(times int) any {
		asked.Add(1)
		if times == 0 {
			now.Add(35)
		}
		w := why(times)
		w.SampledAt = noon.Add(time.Duration(now.Load()) * time.Second)
		return w
	}, nil)}
	c.bound = unbounded
	c.now = func() time.Time { return noon.Add(time.Duration(now.Load()) * time.Second) }
	c.wait = func(_ context.Context, until time.Time) error {
		now.Store(max(now.Load(), int64(until.Sub(noon)/time.Second)))
		return nil
	}
	in, err := Collect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Nodes[1].Spans; n != 4 || asked.Load() != 4 || !in.madeAt.Equal(noon) || now.Load() != 60 { // at 0, 40, 50 and 60 s
		t.Errorf("%d spans of %d answers, after %d s", n, asked.Load(), now.Load())
	}
}

// A round after the first ends in time for the next, whatever an agent that hangs has not answered.
func TestAnAgentThatHangs(t *testing.T) {
	var end atomic.Pointer[context.CancelCauseFunc]
	var bounds []time.Duration
	c := Config{For: 50 * time.Second, Cluster: server(t, func(times int) any {
		if times == 2 {
			(*end.Load())(context.DeadlineExceeded)
			<-t.Context().Done()
		}
		return why(times)
	}, nil)}
	c.bound = func(ctx context.Context, until time.Time) (context.Context, context.CancelFunc) {
		bounds = append(bounds, until.Sub(noon))
		ctx, cancel := context.WithCancelCause(ctx)
		end.Store(&cancel)
		return ctx, func() { cancel(nil) }
	}
	n, notes := spans(t, c)
	if n != 5 || notes != "" || len(bounds) != 5 || bounds[0] != 20*time.Second || bounds[4] != time.Minute {
		t.Errorf("%d spans, bounds %v, notes %q", n, bounds, notes)
	}
}

// Agents that hang, even as many as are asked at once, keep others from being asked in one round only.
func TestAgentsThatHangComeLast(t *testing.T) {
	const hanging = 32
	var questions, waiting atomic.Int64
	var end atomic.Pointer[context.CancelCauseFunc]
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply(t, why(int(questions.Add(1))))(w, r)
	}))
	t.Cleanup(good.Close)
	var first atomic.Int64
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if first.Add(1) <= hanging {
			reply(t, why(0))(w, r)
			return
		}
		if waiting.Add(1)%hanging == 0 {
			(*end.Load())(context.DeadlineExceeded)
		}
		<-r.Context().Done()
	}))
	t.Cleanup(bad.Close)
	var nodes []corev1.Node
	var pods []corev1.Pod
	for i := range hanging + 1 {
		name := fmt.Sprint("hang-", 10+i)
		if i == hanging {
			name = "near"
		}
		p := pod(deploy.AgentNamespace, "agent", name, name, "20m", "40Mi")
		p.Name, p.UID, p.Labels["app.kubernetes.io/name"] = "agent-"+name, "", "spazio-agent"
		nodes, pods = append(nodes, node(name)), append(pods, p)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/nodes", reply(t, &corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, Items: nodes}))
	mux.HandleFunc("GET /api/v1/pods", reply(t, &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: pods}))
	mux.Handle(forwardPath("{pod}"), podforwardtest.Handler(t, func(r *http.Request, _ int) string {
		if r.PathValue("pod") == "agent-near" {
			return good.Listener.Addr().String()
		}
		return bad.Listener.Addr().String()
	}))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	r := gather(t, Config{For: 30 * time.Second, Cluster: &rest.Config{Host: s.URL}, bound: func(ctx context.Context, _ time.Time) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		end.Store(&cancel)
		return ctx, func() { cancel(nil) }
	}})
	if n := r.Nodes[hanging]; n.Name != "near" || n.Spans != 3 {
		t.Errorf("%s has %d spans, want 3: all rounds but the second", n.Name, n.Spans)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "32 nodes stopped answering") {
		t.Errorf("notes %q", notes)
	}
}

// Data that stops is named, of whatever cause; older values do not count.
func TestAgentsThatStop(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(times int) any
		spans  int
		note   string
	}{
		"it answers no more": {func(times int) any {
			if times > 2 {
				return nil
			}
			return why(times)
		}, 3, "1 node stopped answering: their use is of the time before. The agent of near answered last at 2026-11-29T12:00:20Z: "},
		"it measures no more": {func(times int) any { return why(min(times, 2)) }, 3, "it has measured nothing since 2026-11-29T12:00:20Z"},
		"it falls behind": {func(times int) any {
			w := why(times)
			if times > 2 {
				w.SampledAt = w.SampledAt.Add(-31 * time.Second)
			}
			return w
		}, 3, "it has measured nothing since 2026-11-29T12:01:29Z"},
		"it measures no more after an old value": {func(times int) any {
			w := why(min(times, 3))
			if times == 0 {
				w.SampledAt = w.SampledAt.Add(-time.Hour)
			}
			return w
		}, 4, "it has measured nothing since 2026-11-29T12:00:30Z"},
		"once": {func(times int) any {
			if times == 3 {
				return nil
			}
			return why(times)
		}, 12, ""},
		"another clock": {func(times int) any {
			w := why(times)
			w.SampledAt = w.SampledAt.Add(-time.Hour)
			return w
		}, 13, ""},
		"an old first value": {func(times int) any {
			w := why(times)
			if times == 0 {
				w.SampledAt = w.SampledAt.Add(-time.Hour)
			}
			return w
		}, 13, ""},
	} {
		n, notes := spans(t, Config{For: 2 * time.Minute, Cluster: server(t, test.answer, nil)})
		if n != test.spans || !strings.Contains(notes, test.note) || (test.note == "") != (notes == "") {
			t.Errorf("%s: %d spans, notes %q", name, n, notes)
		}
	}
}

// The pod that takes the place of an agent's is asked instead.
func TestAgentsThatAreReplaced(t *testing.T) {
	var times atomic.Int64
	answer := func(of int) any { // the first pod answers three times
		if of > 2 {
			return nil
		}
		return why(int(times.Add(1)) - 1)
	}
	c := Config{For: 3 * time.Minute, Cluster: server(t, answer, func(mux *http.ServeMux) {
		next := pod(deploy.AgentNamespace, "agent", "near2", "near", "20m", "40Mi")
		next.Name, next.Labels["app.kubernetes.io/name"] = "agent-near-2", "spazio-agent"
		mux.HandleFunc("GET /api/v1/namespaces/"+deploy.AgentNamespace+"/pods", func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("labelSelector") != "app.kubernetes.io/name=spazio-agent" {
				t.Errorf("listed %v", r.URL)
			}
			reply(t, &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{next}})(w, r)
		})
		second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			report := why(int(times.Add(1)) - 1)
			report.SampledAt = noon.Add(time.Hour + time.Duration(times.Load())*10*time.Second)
			reply(t, report)(w, r)
		}))
		t.Cleanup(second.Close)
		podforwardtest.Forward(t, mux, deploy.AgentNamespace, "agent-near-2", 9691, strings.TrimPrefix(second.URL, "http://"))
	})}
	// Three answers of the first, five failures until the pods are listed after a minute, then the second's.
	if n, notes := spans(t, c); n != 3+12 || notes != "" {
		t.Errorf("%d spans, notes %q", n, notes)
	}
}

// Who interrupts it gets a report of what was measured until then, unless that is nothing.
func TestInterrupted(t *testing.T) {
	for after, want := range map[int]int{0: 0, 1: 1, 2: 2} { // answers, and spans
		ctx, cancel := context.WithCancel(t.Context())
		c := Config{Timeout: time.Minute, For: time.Hour, Cluster: server(t, func(times int) any {
			if times == after {
				cancel()
				<-t.Context().Done()
			}
			return why(times)
		}, nil)}
		in, err := Collect(ctx, *clock(&c))
		if want == 0 {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("after %d answers: %v", after, err)
			}
			continue
		}
		r, bad := New(in)
		if err != nil || bad != nil {
			t.Fatal(err, bad)
		}
		notes := strings.Join(r.Notes, "\n")
		if r.Nodes[1].Spans != want || !strings.Contains(notes, "Interrupted after ") || !strings.Contains(notes, " of 1h0m0s.") || strings.Contains(notes, "stopped") {
			t.Errorf("after %d answers: %d spans, notes %q", after, r.Nodes[1].Spans, notes)
		}
	}
}
