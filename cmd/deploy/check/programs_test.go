package check_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/cmd/deploy/check"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward/podforwardtest"
)

// shows serves texts by path and query.
func shows(t *testing.T, texts map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := texts[r.URL.String()]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// apiServer has a leading scheduler and operator, an aggregator and the agent of one node.
func apiServer(t *testing.T, scheduler, aggregator, agent, operator string) *rest.Config {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, o any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(o); err != nil {
			t.Error(err)
		}
	}
	for name, holder := range map[string]string{"spazio-scheduler": "leader_1", "spazio-testbed": "bedder_2"} {
		mux.HandleFunc("GET /apis/coordination.k8s.io/v1/namespaces/spazio-system/leases/"+name, func(w http.ResponseWriter, _ *http.Request) {
			lease := coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
			lease.APIVersion, lease.Kind = "coordination.k8s.io/v1", "Lease"
			answer(w, lease)
		})
	}
	pods := func(namespace, labels, fields, name string) {
		mux.HandleFunc("GET /api/v1/namespaces/"+namespace+"/pods", func(w http.ResponseWriter, r *http.Request) {
			list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
			if r.FormValue("labelSelector") == labels && r.FormValue("fieldSelector") == fields {
				list.Items = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: name}}}
			}
			answer(w, list)
		})
	}
	pods("spazio-system", "app.kubernetes.io/name=spazio-aggregator", "", "any")
	pods("spazio-agent", "app.kubernetes.io/name=spazio-agent", "spec.nodeName=near", "its")
	podforwardtest.Forward(t, mux, "spazio-system", "leader", 9694, scheduler)
	podforwardtest.Forward(t, mux, "spazio-system", "any", 9693, aggregator)
	podforwardtest.Forward(t, mux, "spazio-agent", "its", 9691, agent)
	podforwardtest.Forward(t, mux, "spazio-system", "bedder", 9704, operator)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

const certificates = `# TYPE spazio_certificate_not_after_seconds gauge
spazio_certificate_not_after_seconds{use="own"} 1.8e+09
spazio_certificate_not_after_seconds{use="clients"} 1.9e+09
`

const testbeds = `# TYPE spazio_testbed_slots gauge
spazio_testbed_slots{state="occupied",testbed="lab/small"} 1
spazio_testbed_slots{state="free",testbed="lab/auto"} 2
spazio_testbed_slots{state="free",testbed="lab/small"} 3
spazio_testbed_slots{state="pending",testbed="lab/small"} 0
# TYPE spazio_testbed_signal_age_seconds gauge
spazio_testbed_signal_age_seconds{testbed="lab/auto"} 90.5
`

// Each program is queried at its address, and its answer is parsed.
func TestPrograms(t *testing.T) {
	scheduler := shows(t, map[string]string{
		"/debug/spazio":         `{"nodes":[{"node":"near","signal":"fresh","flags":{"noPressure":true}},{"node":"far","signal":"stale","flags":{}}]}`,
		"/debug/spazio?pod=u-1": `{"pod":"a/b","state":"counted"}`,
		"/debug/spazio?pod=u-2": `{"pod":"a/c","state":"bound"}`,
		"/metrics":              certificates + "# TYPE kubernetes_build_info gauge\nkubernetes_build_info{git_version=\"v1.35.4\",major=\"\",minor=\"\"} 1\n",
	})
	aggregator := shows(t, map[string]string{"/metrics": "# TYPE other gauge\nother 1\n"})
	agent := shows(t, map[string]string{"/metrics": "# TYPE spazio_agent_cgroups gauge\nspazio_agent_cgroups{layout=\"hybrid\"} 1\n"})
	operator := shows(t, map[string]string{"/metrics": testbeds + "# TYPE spazio_certificate_not_after_seconds gauge\nspazio_certificate_not_after_seconds{use=\"interface\"} 1.7e+09\n"})
	p, err := check.NewPrograms(apiServer(t, scheduler, aggregator, agent, operator), 0)
	if err != nil {
		t.Fatal(err)
	}
	signals, err := p.Signals(t.Context())
	want := []check.Signal{{Node: "near", Fresh: true, State: "fresh", NoPressure: true}, {Node: "far", State: "stale"}}
	if err != nil || fmt.Sprint(signals) != fmt.Sprint(want) {
		t.Errorf("signals %+v, %v; want %+v", signals, err, want)
	}
	if minor, err := p.Kubernetes(t.Context()); err != nil || minor != "1.35" {
		t.Errorf("it is of Kubernetes %q, %v", minor, err)
	}
	for uid, listed := range map[types.UID]bool{"u-1": true, "u-2": false} {
		if got, err := p.Listed(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}); err != nil || got != listed {
			t.Errorf("%s listed: %v, %v", uid, got, err)
		}
	}
	ends, err := p.Certificates(t.Context(), false)
	if err != nil || len(ends) != 2 || !ends["scheduler's own"].Equal(time.Unix(1_800_000_000, 0)) || !ends["scheduler's clients"].Equal(time.Unix(1_900_000_000, 0)) {
		t.Errorf("certificates %v, %v", ends, err)
	}
	if ends, err := p.Certificates(t.Context(), true); err != nil || len(ends) != 3 || !ends["testbed's interface"].Equal(time.Unix(1_700_000_000, 0)) {
		t.Errorf("certificates with test beds %v, %v", ends, err)
	}
	if layout, err := p.Cgroup(t.Context(), "near"); err != nil || layout != "hybrid" {
		t.Errorf("control groups %q, %v", layout, err)
	}
	beds, err := p.Testbeds(t.Context())
	wantBeds := []check.Testbed{
		{Name: "lab/auto", Slots: map[string]int{"free": 2}, SignalAge: 90*time.Second + 500*time.Millisecond},
		{Name: "lab/small", Slots: map[string]int{"free": 3, "occupied": 1, "pending": 0}},
	}
	if diff := cmp.Diff(wantBeds, beds); err != nil || diff != "" {
		t.Errorf("test beds, %v (-want +got):\n%s", err, diff)
	}
	if _, err := p.Cgroup(t.Context(), "far"); err == nil || !strings.Contains(err.Error(), "no pod runs there") {
		t.Errorf("a node without an agent: %v", err)
	}
}

// A missing value is unknown, and a program that cannot be reached is named.
func TestProgramsThatAreSilent(t *testing.T) {
	nothing := shows(t, nil)
	p, err := check.NewPrograms(apiServer(t, nothing, nothing, shows(t, map[string]string{"/metrics": ""}), nothing), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Signals(t.Context()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("signals: %v", err)
	}
	if _, err := p.Kubernetes(t.Context()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("Kubernetes: %v", err)
	}
	if _, err := p.Certificates(t.Context(), true); err == nil || !strings.Contains(err.Error(), "scheduler: ") || !strings.Contains(err.Error(), "aggregator: ") || !strings.Contains(err.Error(), "testbed: ") {
		t.Errorf("certificates: %v", err)
	}
	if _, err := p.Testbeds(t.Context()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("test beds: %v", err)
	}
	if layout, err := p.Cgroup(t.Context(), "near"); err != nil || layout != "unknown" {
		t.Errorf("control groups %q, %v", layout, err)
	}
	if _, err := check.NewPrograms(nil, 0); err == nil {
		t.Error("nothing leads to an API server, and nobody says so")
	}
}
