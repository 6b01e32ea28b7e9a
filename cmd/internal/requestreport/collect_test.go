package requestreport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward/podforwardtest"
	"github.com/spazio-scheduler/spazio/field"
)

func list(cpu, memory string) corev1.ResourceList {
	of := corev1.ResourceList{}
	for name, quantity := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
		if quantity != "" {
			of[name] = resource.MustParse(quantity)
		}
	}
	return of
}

func node(name string) corev1.Node {
	n := corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Capacity, n.Status.Allocatable = list("4", "16Gi"), list("3900m", "15Gi")
	return n
}

// pod is a pod of a Deployment with two containers, one of which requests something, and an init
// container that requests more of the CPU.
func pod(namespace, deployment, name, node, cpu, memory string) corev1.Pod {
	yes := true
	p := corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: deployment + "-5d4f8c7b9-" + name, UID: "", Labels: map[string]string{"pod-template-hash": "5d4f8c7b9"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment + "-5d4f8c7b9", Controller: &yes}},
	}}
	p.UID = uidOf(p.Name)
	p.Spec.NodeName = node
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: list(cpu, memory)}}, {Name: "proxy"}}
	p.Status.Phase = corev1.PodRunning
	return p
}

// cluster are the objects of a small cluster: two nodes, of which one has an agent that answers.
func cluster() (nodes []corev1.Node, pods []corev1.Pod, profiles []v1alpha1.WorkloadProfile) {
	nodes = []corev1.Node{node("near"), node("far")}
	nodes[1].Spec.Unschedulable = true
	starts := pod("shop", "web", "init1", "near", "500m", "1Gi")
	starts.Spec.InitContainers = []corev1.Container{{Name: "init", Resources: corev1.ResourceRequirements{Requests: list("2", "")}}}
	done := pod("shop", "web", "done1", "near", "1", "1Gi")
	done.Status.Phase = corev1.PodSucceeded
	agents := []corev1.Pod{pod(deploy.AgentNamespace, "agent", "near1", "near", "20m", "40Mi"), pod(deploy.AgentNamespace, "agent", "far12", "far", "20m", "40Mi")}
	for i := range agents {
		agents[i].Name, agents[i].Labels["app.kubernetes.io/name"] = "agent-"+agents[i].Spec.NodeName, "spazio-agent"
	}
	pods = append([]corev1.Pod{starts, done, pod("shop", "web", "run12", "near", "500m", "1Gi"), pod("shop", "free", "run34", "far", "", ""), pod("shop", "web", "wait1", "", "9", "9Gi")}, agents...)
	p := v1alpha1.WorkloadProfile{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "WorkloadProfile"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployment-web"}}
	p.Spec.Workload = v1alpha1.WorkloadReference{Kind: "Deployment", Name: "web"}
	p.Status.Demand = &v1alpha1.Demand{
		CPU: v1alpha1.Share{Amount: resource.MustParse("250m"), Confidence: "0.5"}, Memory: v1alpha1.Share{Amount: resource.MustParse("256Mi"), Confidence: "1"},
	}
	p.Status.Recommendation = &v1alpha1.Recommendation{}
	for _, name := range []string{"main", "proxy"} {
		p.Status.Recommendation.ContainerRecommendations = append(p.Status.Recommendation.ContainerRecommendations, v1alpha1.ContainerRecommendation{
			ContainerName: name, Target: v1alpha1.Amounts{CPU: resource.MustParse("200m"), Memory: resource.MustParse("256Mi")},
		})
	}
	return nodes, pods, append(profiles, p)
}

// why is what an agent answers, the times-th time.
func why(times int) agent.Why {
	return agent.Why{
		Node: "near", SampledAt: noon.Add(time.Duration(times) * 10 * time.Second), Avail: 5.5,
		Channels: []agent.WhyChannel{
			{Name: agent.CPU, Filtered: .125 * float64(times%4), Room: .75}, // a task on each of none, one, two or three CPUs
			{Name: agent.Memory, Filtered: .25, Room: .5},
		},
	}
}

// server is an API server with the cluster, before whose agent near answers, and far does not.
func server(t *testing.T, report func(times int) any, change func(*http.ServeMux)) *rest.Config {
	t.Helper()
	mux := http.NewServeMux()
	say := func(path string, object any) { mux.HandleFunc("GET "+path, reply(t, object)) }
	nodes, pods, profiles := cluster()
	say("/api/v1/nodes", &corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, Items: nodes})
	say("/api/v1/pods", &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: pods})
	if change != nil {
		change(mux)
	} else {
		say("/apis/"+v1alpha1.GroupVersion.String()+"/"+v1alpha1.Profiles, &v1alpha1.WorkloadProfileList{
			TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "WorkloadProfileList"}, Items: profiles})
	}
	times := atomic.Int64{}
	agents := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/debug/why" || r.FormValue("format") != "json" {
			t.Errorf("asked for %v", r.URL)
		}
		if why := report(int(times.Add(1)) - 1); why != nil {
			_ = json.NewEncoder(w).Encode(why)
			return
		}
		http.Error(w, "no", http.StatusInternalServerError)
	}))
	t.Cleanup(agents.Close)
	podforwardtest.Forward(t, mux, deploy.AgentNamespace, "agent-near", 9691, strings.TrimPrefix(agents.URL, "http://"))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL}
}

func unbounded(ctx context.Context, _ time.Time) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

// clock runs as it is waited for.
func clock(c *Config) *Config {
	now := noon
	c.now = func() time.Time { return now }
	if c.bound == nil {
		c.bound = unbounded
	}
	c.wait = func(ctx context.Context, until time.Time) error {
		now = until
		return ctx.Err()
	}
	return c
}

func gather(t *testing.T, c Config) *Report {
	t.Helper()
	c.Timeout = time.Minute
	in, err := Collect(t.Context(), *clock(&c))
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func coresAndBytes(cores, memory float64) resourceAmounts {
	return resourceAmounts{CPU: Is(cores), Memory: Is(memory)}
}

var near = cmp.Options{cmpopts.EquateApprox(1e-9, 0), ignored}

// A live cluster: what its objects request, what an agent measures over time, and that another is silent.
func TestLive(t *testing.T) {
	r := gather(t, Config{Source: "c", For: 190 * time.Second, Cluster: server(t, func(times int) any { return why(times) }, nil)})
	want := []nodeRow{
		{Name: "far", Pods: 2, Undeclared: 1, Unschedulable: true, Capacity: coresAndBytes(4, 16*gibibyte), Allocatable: coresAndBytes(3.9, 15*gibibyte), Requested: coresAndBytes(.02, 40<<20)},
		{Name: "near", Pods: 3, Capacity: coresAndBytes(4, 16*gibibyte), Allocatable: coresAndBytes(3.9, 15*gibibyte), Requested: coresAndBytes(2.52, 2*gibibyte+40<<20), Spans: 20, Idle: new(false),
			Used: usageSummary{Mean: coresAndBytes(1.5, 4*gibibyte), P95: coresAndBytes(3, 4*gibibyte)}, // of 20 values a quarter each is 0, 1, 2 and 3
			Room: nodeRoom{Pods: Is(5.5), resourceAmounts: coresAndBytes(2, 8*gibibyte)}},
	}
	if diff := cmp.Diff(want, r.Nodes, near); diff != "" {
		t.Error(diff)
	}
	web := workloadRow{}
	for _, w := range r.Workloads {
		if w.Name == "web" {
			web = w
		}
	}
	half := 1 / 1.0442737824274138 // of an eighth of an octave, 2^(1/16), by which amounts were rounded up on average
	wanted := workloadRow{
		Namespace: "shop", Kind: "Deployment", Name: "web", Pods: 2, Requested: coresAndBytes(2.5, 2*gibibyte), Request: coresAndBytes(1.25, gibibyte),
		Need: coresAndBytes(.25*half, half*gibibyte/4), Confidence: Is(.5), Excess: coresAndBytes(2.5-.5*half, 2*gibibyte-half*gibibyte/2),
		// The pod whose init container requests 2 cores cannot request less of the CPU, the other .1 less.
		Recommended: coresAndBytes(.4, gibibyte/2), Saving: coresAndBytes(.1, gibibyte),
	}
	if diff := cmp.Diff(wanted, web, near); diff != "" {
		t.Error(diff)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "The agent of node far did not answer: ") || strings.Contains(notes, "node near") {
		t.Errorf("notes %q", notes)
	}
	if !r.From.Equal(noon) || r.To.Sub(r.From) != 200*time.Second {
		t.Errorf("measured from %v to %v", r.From, r.To)
	}
}

// What an agent does not know is unknown.
func TestDoubts(t *testing.T) {
	for name, test := range map[string]struct {
		doubt func(*agent.Why)
		want  func(*nodeRow)
	}{
		"the cost is assumed": {func(w *agent.Why) { w.Flags.CostUnknown = true }, func(n *nodeRow) { n.Room.Pods = Measured{} }},
		"it warms up":         {func(w *agent.Why) { w.Flags.WarmingUp = true }, func(n *nodeRow) { n.Room.Pods = Measured{} }},
		"Pronto decides":      {func(w *agent.Why) { w.Pronto = &agent.WhyPronto{} }, func(n *nodeRow) { n.Room = nodeRoom{} }},
		"no memory": {func(w *agent.Why) { w.Channels = w.Channels[:1] }, func(n *nodeRow) {
			n.Used.Mean.Memory, n.Room.Memory = Measured{}, Measured{}
		}},
		"by utilisation": {func(w *agent.Why) { w.Flags.NoPressure = true }, func(n *nodeRow) {
			n.Used.Mean.CPU, n.Room.CPU = Is(.5), Is(3)
		}},
	} {
		r := gather(t, Config{Cluster: server(t, func(int) any {
			w := why(1)
			test.doubt(&w)
			return w
		}, nil)})
		got, want := r.Nodes[1], nodeRow{Used: usageSummary{Mean: coresAndBytes(1, 4*gibibyte)}, Room: nodeRoom{Pods: Is(5.5), resourceAmounts: coresAndBytes(2, 8*gibibyte)}}
		test.want(&want)
		if got.NoPressure != (name == "by utilisation") {
			t.Errorf("%s: without pressure data: %v", name, got.NoPressure)
		}
		if diff := cmp.Diff(want.Used, got.Used, near) + cmp.Diff(want.Room, got.Room, near); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Of many agents that are silent some are named.
func TestManySilentAgents(t *testing.T) {
	nodes, pods, _ := cluster()
	for i := range 9 {
		n, p := node(fmt.Sprint("silent-", i)), pod(deploy.AgentNamespace, "agent", "sil-"+fmt.Sprint(i), fmt.Sprint("silent-", i), "20m", "40Mi")
		p.Labels["app.kubernetes.io/name"] = "spazio-agent"
		nodes, pods = append(nodes, n), append(pods, p)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/nodes", reply(t, &corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, Items: nodes}))
	mux.HandleFunc("GET /api/v1/pods", reply(t, &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: pods}))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	notes := strings.Join(gather(t, Config{Cluster: &rest.Config{Host: s.URL}}).Notes, "\n")
	if strings.Count(notes, "did not answer") != 5 || !strings.Contains(notes, "Nor did the agents of 6 other nodes.") {
		t.Errorf("notes %q", notes)
	}
}

// reply is an API server's, of one object.
func reply(t *testing.T, object any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(object); err != nil {
			t.Error(err)
		}
	}
}

// An agent that has not sampled since adds nothing.
func TestAnOldSampleCountsOnce(t *testing.T) {
	r := gather(t, Config{For: time.Minute, Cluster: server(t, func(times int) any { return why(3 + times/100) }, nil)})
	if n := r.Nodes[1]; n.Spans != 1 {
		t.Errorf("%d spans of one sample", n.Spans)
	}
}

// Without profiles, or the right to list them, the rest is there, and a note says so.
func TestWithoutProfiles(t *testing.T) {
	path := "/apis/" + v1alpha1.GroupVersion.String() + "/" + v1alpha1.Profiles
	for says, code := range map[string]int{"has no WorkloadProfiles": http.StatusNotFound, "may not list WorkloadProfiles": http.StatusForbidden} {
		r := gather(t, Config{Cluster: server(t, func(times int) any { return why(times) }, func(mux *http.ServeMux) {
			mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", code) })
		})})
		if r.Total.Profiled != 0 || r.Total.MeasuredNodes != 1 || !strings.Contains(strings.Join(r.Notes, "\n"), says) {
			t.Errorf("%+v, %q", r.Total, r.Notes)
		}
	}
}

func TestCollectRefuses(t *testing.T) {
	somewhere := &rest.Config{Host: "http://127.0.0.1:1"}
	whole := file(t)
	for name, test := range map[string]struct {
		config Config
		field  string
	}{
		"a time below 0":         {Config{Timeout: 1, Cluster: somewhere, For: -1}, "For"},
		"a time without end":     {Config{Timeout: 1, Cluster: somewhere, For: 25 * time.Hour}, "For"},
		"a time of recordings":   {Config{Timeout: 1, Recordings: []string{"x"}, For: time.Minute}, "For"},
		"a time of a file":       {Config{Timeout: 1, Objects: strings.NewReader("{}"), For: time.Minute}, "For"},
		"no timeout":             {Config{Cluster: somewhere}, "Timeout"},
		"nothing":                {Config{Timeout: 1}, "Cluster"},
		"a recording not there":  {Config{Timeout: 1, Recordings: []string{"/nowhere"}}, "Recordings"},
		"an empty file":          {Config{Timeout: 1, Objects: strings.NewReader("")}, "Objects"},
		"a file that is no list": {Config{Timeout: 1, Objects: strings.NewReader("[1]")}, "Objects"},
		"a file that was cut":    {Config{Timeout: 1, Objects: strings.NewReader(whole[:len(whole)/2])}, "Objects"},
		"items that are none":    {Config{Timeout: 1, Objects: strings.NewReader(`{"items": {}}`)}, "Objects"},
		"no pods":                {Config{Timeout: 1, Objects: strings.NewReader(`{"items": [{"kind": "Node", "metadata": {"name": "n"}}]}`)}, "Objects"},
		"no nodes":               {Config{Timeout: 1, Objects: strings.NewReader(`{"items": []}`)}, "Objects"},
	} {
		_, err := Collect(t.Context(), test.config)
		if bad := field.By(err, "requestreport"); bad == nil || bad.Field != test.field || !errors.Is(err, errInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Collect(t.Context(), Config{Timeout: time.Minute, Cluster: somewhere}); err == nil || !strings.Contains(err.Error(), "list nodes") {
		t.Errorf("no API server: %v", err)
	}
}
