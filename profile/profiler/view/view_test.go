package view

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
)

const web = `
apiVersion: profile.spazio-scheduler.github.io/v1alpha1
kind: WorkloadProfile
metadata: {name: deployment-web-e7388b22, namespace: shop}
spec:
  workload: {kind: Deployment, name: web}
  maxAllowed: {memory: 300Mi}
status:
  observedAt: "2026-11-22T09:00:00Z"
  revision: 5d4f8c7b9
  pods: 31
  demand: &demand
    cpu: {amount: 250m, sd: 20m, confidence: "0.9375"}
    memory: {amount: 200Mi, sd: "0", confidence: "1"}
  slots: [*demand, *demand]
  lifetime: {p50: 30s, p90: 1m40s}
  recommendation:
    containerRecommendations:
    - containerName: main
      target: {cpu: 300m, memory: 300Mi}
      lowerBound: {cpu: 200m, memory: 250Mi}
      upperBound: {cpu: 400m, memory: 300Mi}
      uncappedTarget: {cpu: 300m, memory: 400Mi}
    - containerName: proxy
      target: {cpu: "0", memory: 20Mi}
      uncappedTarget: {cpu: "0", memory: 20Mi}
  application: front
  connections:
  - {kind: Deployment, namespace: shop, name: db, requestBytesPerSecond: 100, responseBytesPerSecond: 2000}
  throttled: "0.01"
  oomKills: 2
  conditions:
  - {type: Stale, status: "True", reason: Measured, message: "", lastTransitionTime: "2026-11-22T09:00:00Z"}
  - {type: Contradicted, status: "False", reason: Measured, message: "", lastTransitionTime: "2026-11-22T09:00:00Z"}
  - {type: Ready, status: "True", reason: Measured, message: "", lastTransitionTime: "2026-11-22T09:00:00Z"}
`

func profileOf(t testing.TB, text string) *v1alpha1.WorkloadProfile {
	t.Helper()
	p := &v1alpha1.WorkloadProfile{}
	if err := yaml.UnmarshalStrict([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestText(t *testing.T) {
	got := Text(time.Date(2026, 11, 22, 9, 2, 0, 0, time.UTC), profileOf(t, web))
	want := strings.TrimLeft(`
workload     Deployment/web in namespace shop
measured     2m0s ago, of 31 pods, revision 5d4f8c7b9
demand       cpu 250m ± 20m (confidence 0.9375), memory 200Mi ± 0 (confidence 1)
  from 00:00 cpu 250m ± 20m (confidence 0.9375), memory 200Mi ± 0 (confidence 1)
  from 12:00 cpu 250m ± 20m (confidence 0.9375), memory 200Mi ± 0 (confidence 1)
lives        half of the pods up to 30s, nine of ten up to 1m40s
recommended  main: cpu 300m (200m to 400m), memory 300Mi (250Mi to 300Mi); without its bounds cpu 300m, memory 400Mi
recommended  proxy: cpu 0 (0 to 0), memory 20Mi (0 to 0)
application  front
connection   Deployment shop/db: 100 B/s, answered by 2000 B/s
throttled    in 0.01 of the periods of its CPU limit
killed       for want of memory: 2
conditions   Stale
`, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p := profileOf(t, web)
	p.Status = v1alpha1.WorkloadProfileStatus{}
	if got := Text(time.Now(), p); got != "workload     Deployment/web in namespace shop\nmeasured     not yet\n" {
		t.Errorf("%q", got)
	}
	p = profileOf(t, web)
	p.Status.Pods, p.Status.Revision, p.Status.Recommendation.ContainerRecommendations[0].ContainerName = 1, "", ""
	if got := Text(time.Now(), p); !strings.Contains(got, "of 1 pod\n") || !strings.Contains(got, "recommended  the pod: ") {
		t.Errorf("%q", got)
	}
}

func TestManifest(t *testing.T) {
	for name, test := range map[string]struct {
		kind     string
		template *Template
		limits   bool
		want     string
	}{
		"injected": {"StatefulSet", &Template{Containers: []string{"main", "other"}}, false, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {namespace: shop, name: web}
spec:
  template:
    spec:
      containers:
      - {name: main, resources: {requests: {cpu: 300m, memory: 300Mi}}}`},
		"restarted init container": {"Deployment", &Template{Containers: []string{"main"}, InitContainers: []string{"proxy"}}, false, `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: web}
spec:
  template:
    spec:
      containers:
      - {name: main, resources: {requests: {cpu: 300m, memory: 300Mi}}}
      initContainers:
      - {name: proxy, resources: {requests: {memory: 20Mi}}}`},
		"requests": {"Deployment", nil, false, `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: web}
spec:
  template:
    spec:
      containers:
      - {name: main, resources: {requests: {cpu: 300m, memory: 300Mi}}}
      - {name: proxy, resources: {requests: {memory: 20Mi}}}`},
		"limits": {"CronJob", nil, true, `
apiVersion: batch/v1
kind: CronJob
metadata: {namespace: shop, name: web}
spec:
  jobTemplate:
    spec:
      template:
        spec:
          containers:
          - {name: main, resources: {requests: {cpu: 300m, memory: 300Mi}, limits: {cpu: 600m, memory: 600Mi}}}
          - {name: proxy, resources: {requests: {memory: 20Mi}, limits: {memory: 40Mi}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := profileOf(t, web)
			p.Spec.Workload.Kind = test.kind
			manifest, err := Manifest(p, test.template, test.limits)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(manifest)
			if err != nil {
				t.Fatal(err)
			}
			var got, want map[string]any
			if err := errors.Join(json.Unmarshal(text, &got), yaml.Unmarshal([]byte(test.want), &want)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for field, change := range map[string]func(*v1alpha1.WorkloadProfile){
		"workload.kind":         func(p *v1alpha1.WorkloadProfile) { p.Spec.Workload.Kind = "Job" },
		"status.recommendation": func(p *v1alpha1.WorkloadProfile) { p.Status.Recommendation = nil },
	} {
		p := profileOf(t, web)
		change(p)
		refused(t, field, func() error { _, err := Manifest(p, nil, false); return err })
	}
	unnamed := profileOf(t, web)
	unnamed.Status.Recommendation.ContainerRecommendations = unnamed.Status.Recommendation.ContainerRecommendations[:1]
	unnamed.Status.Recommendation.ContainerRecommendations[0].ContainerName = ""
	refused(t, "status.recommendation", func() error { _, err := Manifest(unnamed, nil, false); return err })
}

// The template is read from each kind, wherever it is.
func TestTemplate(t *testing.T) {
	answers := map[string]string{
		"/apis/apps/v1/namespaces/shop/deployments/web": `{"spec": {"template": {"spec": {"containers": [{"name": "main"}, {"name": "b"}], "initContainers": [{"name": "i"}]}}}}`,
		"/apis/batch/v1/namespaces/shop/cronjobs/web":   `{"spec": {"jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "main"}]}}}}}}`,
		"/apis/apps/v1/namespaces/shop/daemonsets/web":  `{"spec": {}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusForbidden)
			text = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`
		}
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	read := func(kind string) (*Template, error) {
		p := profileOf(t, web)
		p.Spec.Workload.Kind = kind
		return client.Template(t.Context(), p)
	}
	for kind, want := range map[string]*Template{
		"Deployment": {Containers: []string{"main", "b"}, InitContainers: []string{"i"}}, "CronJob": {Containers: []string{"main"}},
	} {
		if got, err := read(kind); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
	if _, err := read("StatefulSet"); !apierrors.IsForbidden(err) {
		t.Error(err)
	}
	for kind, field := range map[string]string{"Job": "workload.kind", "DaemonSet": "template"} {
		refused(t, field, func() error { _, err := read(kind); return err })
	}
	// Nothing remains if all are injected.
	refused(t, "status.recommendation", func() error {
		_, err := Manifest(profileOf(t, web), &Template{Containers: []string{"x"}}, false)
		return err
	})
}

// Callees are shown by name alone if their kind is unknown.
func TestCalls(t *testing.T) {
	p := profileOf(t, web)
	p.Status.Connections = append(p.Status.Connections, v1alpha1.Connection{Namespace: "out", Name: "bank", RequestBytesPerSecond: 1})
	want := []call{
		{Namespace: "shop", Workload: "Deployment/web", PeerNamespace: "shop", Peer: "Deployment/db", Request: 100, Response: 2000},
		{Namespace: "shop", Workload: "Deployment/web", PeerNamespace: "out", Peer: "bank", Request: 1},
	}
	if diff := cmp.Diff(want, Calls([]v1alpha1.WorkloadProfile{*p, {}})); diff != "" {
		t.Error(diff)
	}
}

func refused(t *testing.T, name string, do func() error) {
	t.Helper()
	var e *field.Error
	if err := do(); !errors.As(err, &e) || e.Field != name || !errors.Is(err, profile.ErrInvalid) || !strings.HasPrefix(err.Error(), "view: "+name) {
		t.Errorf("%s: %v", name, err)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"web": "Deployment/web", "deployment/web": "Deployment/web", "statefulset/db": "StatefulSet/db", "SparkApplication/etl": "SparkApplication/etl", "CRONJOB/x": "CronJob/x",
	} {
		if got, err := parse(text); err != nil || got.Kind+"/"+got.Name != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "/", "a/", "/a", "a/b/c"} {
		refused(t, "workload", func() error { _, err := parse(text); return err })
	}
}

// The API server answers in pages, in its own order.
func TestListAndGet(t *testing.T) {
	page := func(w http.ResponseWriter, next string, names ...string) {
		list := v1alpha1.WorkloadProfileList{}
		list.Kind, list.APIVersion, list.Continue = "WorkloadProfileList", v1alpha1.GroupVersion.String(), next
		for _, name := range names {
			p := profileOf(t, web)
			p.Namespace, p.Spec.Workload.Name, _ = strings.Cut(name, "/")
			list.Items = append(list.Items, *p)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}
	const group = "/apis/profile.spazio-scheduler.github.io/v1alpha1/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+group+"workloadprofiles", func(w http.ResponseWriter, r *http.Request) {
		switch r.FormValue("continue") {
		case "":
			page(w, "more", "shop/web", "other/web")
		case "more":
			page(w, "", "shop/cart")
		}
	})
	mux.HandleFunc("GET "+group+"namespaces/shop/workloadprofiles", func(w http.ResponseWriter, _ *http.Request) { page(w, "", "shop/web") })
	mux.HandleFunc("GET "+group+"namespaces/shop/workloadprofiles/"+v1alpha1.NameOf(profileOf(t, web).Spec.Workload.In("shop")), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(profileOf(t, web))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for namespace, want := range map[string][]string{"": {"other/web", "shop/cart", "shop/web"}, "shop": {"shop/web"}} {
		all, err := client.List(t.Context(), namespace)
		var got []string
		for _, p := range all {
			got = append(got, p.Namespace+"/"+p.Spec.Workload.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("in %q: %s, %v", namespace, diff, err)
		}
	}
	if _, err := client.List(t.Context(), "absent"); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "list profiles") {
		t.Errorf("%v", err)
	}
	if p, err := client.Get(t.Context(), "shop", "web"); err != nil || p.Status.Pods != 31 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := client.Get(t.Context(), "shop", "cart"); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "Deployment/cart in namespace shop") {
		t.Errorf("%v", err)
	}
	refused(t, "workload", func() error { _, err := client.Get(context.Background(), "shop", "/"); return err })
}

// Any object can be shown, or there is nothing to apply.
func FuzzProfile(f *testing.F) {
	f.Add([]byte(web))
	f.Add([]byte("status: {observedAt: null, slots: [{}], recommendation: {containerRecommendations: [{target: {cpu: -1}}]}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := &v1alpha1.WorkloadProfile{}
		if yaml.Unmarshal(text, p) != nil {
			return
		}
		if Text(time.Now(), p) == "" {
			t.Error("nothing is said")
		}
		if manifest, err := Manifest(p, nil, true); (manifest == nil) != errors.Is(err, profile.ErrInvalid) {
			t.Errorf("%v, %v", manifest, err)
		}
	})
}
