package spazioctl_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/profile"
)

const webProfile = `{"apiVersion": "profile.spazio-scheduler.github.io/v1alpha1", "kind": "WorkloadProfile", "metadata": {"name": "w", "namespace": "shop"},
"spec": {"workload": {"kind": "Deployment", "name": "web"}}, "status": {"observedAt": "2026-11-22T09:00:00Z", "pods": 31,
"demand": {"cpu": {"amount": "250m", "sd": "20m", "confidence": "0.9375"}, "memory": {"amount": "200Mi", "sd": "0", "confidence": "1"}},
"recommendation": {"containerRecommendations": [{"containerName": "main", "target": {"cpu": "300m", "memory": "300Mi"},
"lowerBound": {"cpu": "200m", "memory": "250Mi"}, "upperBound": {"cpu": "400m", "memory": "350Mi"}},
{"containerName": "istio-proxy", "target": {"cpu": "10m", "memory": "40Mi"}, "lowerBound": {"cpu": "10m", "memory": "40Mi"}, "upperBound": {"cpu": "10m", "memory": "40Mi"}}]},
"application": "front", "connections": [{"kind": "Deployment", "namespace": "shop", "name": "cart", "requestBytesPerSecond": 10, "responseBytesPerSecond": 2000},
{"kind": "", "namespace": "out", "name": "bank", "requestBytesPerSecond": 1, "responseBytesPerSecond": 0}],
"conditions": [{"type": "Stale", "status": "True", "reason": "NotMeasured", "message": "", "lastTransitionTime": "2026-11-22T09:00:00Z"}]}}`

const jobProfile = `{"metadata": {"name": "j", "namespace": "shop"}, "spec": {"workload": {"kind": "Job", "name": "once"}}}`

// profileServer starts an API server with two profiles in one namespace, and returns a kubeconfig for
// it.
func profileServer(t *testing.T) string {
	t.Helper()
	return profileServerOf(t, webProfile)
}

// profileServerOf is profileServer with another profile of the workload web.
func profileServerOf(t *testing.T, webProfile string) string {
	t.Helper()
	const group = "/apis/profile.spazio-scheduler.github.io/v1alpha1/"
	mux := http.NewServeMux()
	say := func(path, text string) {
		mux.HandleFunc("GET "+group+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(text))
		})
	}
	list := `{"apiVersion": "profile.spazio-scheduler.github.io/v1alpha1", "kind": "WorkloadProfileList", "metadata": {}, "items": [` + webProfile + "," + jobProfile + "]}"
	say("workloadprofiles", list)
	say("namespaces/shop/workloadprofiles", list)
	mux.HandleFunc("GET /apis/apps/v1/namespaces/shop/deployments/web", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"spec": {"template": {"spec": {"containers": [{"name": "main"}]}}}}`))
	})
	say("namespaces/shop/workloadprofiles/"+v1alpha1.NameOf(profile.Workload{Kind: "Deployment", Name: "web"}), webProfile)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return transporttest.Kubeconfig(t, server.URL, "shop")
}

func TestProfiles(t *testing.T) {
	kubeconfig := profileServer(t)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"list": {[]string{"list"}, `
NAMESPACE  WORKLOAD         CPU  MEMORY  CONFIDENCE  PODS  APPLICATION  CALLS  CONDITIONS
shop       Deployment/web  250m   200Mi           1    31  front            2  Stale
shop       Job/once           -       -           -     0  -                -  -
`},
		"connections": {[]string{"list", "--connections"}, `
NAMESPACE  WORKLOAD        NAMESPACE  CALLS            REQUEST B/S  RESPONSE B/S
shop       Deployment/web  shop       Deployment/cart           10          2000
shop       Deployment/web  out        bank                       1             0
`},
		"connections as json": {[]string{"list", "--connections", "-o", "json"}, `
[
  {
    "namespace": "shop",
    "workload": "Deployment/web",
    "peerNamespace": "shop",
    "peer": "Deployment/cart",
    "requestBytesPerSecond": 10,
    "responseBytesPerSecond": 2000
  },
  {
    "namespace": "shop",
    "workload": "Deployment/web",
    "peerNamespace": "out",
    "peer": "bank",
    "requestBytesPerSecond": 1,
    "responseBytesPerSecond": 0
  }
]
`},
		"recommend": {[]string{"recommend", "-A"}, `
NAMESPACE  WORKLOAD        CONTAINER     CPU  FROM    TO  MEMORY   FROM     TO
shop       Deployment/web  main         300m  200m  400m   300Mi  250Mi  350Mi
shop       Deployment/web  istio-proxy   10m   10m   10m    40Mi   40Mi   40Mi
`},
		"yaml": {[]string{"recommend", "web", "-o", "yaml", "--limits"}, `
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  template:
    spec:
      containers:
      - name: main
        resources:
          limits:
            cpu: 600m
            memory: 600Mi
          requests:
            cpu: 300m
            memory: 300Mi
`},
		"yaml of all": {[]string{"recommend", "-o", "yaml"}, `
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  template:
    spec:
      containers:
      - name: main
        resources:
          requests:
            cpu: 300m
            memory: 300Mi
---
# Job/once in namespace shop: workload.kind = Job: must be a kind whose template can change
`},
		"json": {[]string{"recommend", "deployment/web", "--output", "json"}, `
[
  {
    "namespace": "shop",
    "workload": "Deployment/web",
    "containerName": "main",
    "target": {
      "cpu": "300m",
      "memory": "300Mi"
    },
    "lowerBound": {
      "cpu": "200m",
      "memory": "250Mi"
    },
    "upperBound": {
      "cpu": "400m",
      "memory": "350Mi"
    },
    "uncappedTarget": {
      "cpu": "0",
      "memory": "0"
    }
  },
  {
    "namespace": "shop",
    "workload": "Deployment/web",
    "containerName": "istio-proxy",
    "target": {
      "cpu": "10m",
      "memory": "40Mi"
    },
    "lowerBound": {
      "cpu": "10m",
      "memory": "40Mi"
    },
    "upperBound": {
      "cpu": "10m",
      "memory": "40Mi"
    },
    "uncappedTarget": {
      "cpu": "0",
      "memory": "0"
    }
  }
]
`},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := run(t.Context(), append(append([]string{"profile"}, test.args...), "--kubeconfig", kubeconfig)...)
			if code != 0 || errs != "" {
				t.Fatalf("exit %d: %s", code, errs)
			}
			if diff := cmp.Diff(strings.TrimLeft(test.want, "\n"), out); diff != "" {
				t.Error(diff)
			}
		})
	}
	code, out, errs := run(t.Context(), "profile", "show", "web", "--kubeconfig", kubeconfig)
	if code != 0 || !strings.Contains(out, "recommended  main: cpu 300m") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	for _, output := range []string{"list", "show web"} {
		code, out, errs := run(t.Context(), append(append([]string{"profile"}, strings.Fields(output)...), "--kubeconfig", kubeconfig, "-o", "json")...)
		if code != 0 || !strings.Contains(out, `"pods": 31`) {
			t.Errorf("exit %d: %s%s", code, out, errs)
		}
	}
}

// The templates of many workloads are read one after another, each with its own timeout. The API server
// rounds amounts finer than millicores and bytes, which would leave a permanent difference. kubectl's
// own field manager owns the rest of the object, which such a manifest leaves out.
func TestManifestsAreWhatTheAPIServerKeeps(t *testing.T) {
	fine := strings.NewReplacer(`"cpu": "300m", "memory": "300Mi"`, `"cpu": "148651u", "memory": "100000000500m"`).Replace(webProfile)
	code, out, err := run(t.Context(), "profile", "recommend", "web", "-o", "yaml", "--kubeconfig", profileServerOf(t, fine))
	if code != 0 || !strings.Contains(out, "cpu: 149m\n") || !strings.Contains(out, "memory: \"100000001\"\n") {
		t.Errorf("%v:\n%s", err, out)
	}
	_, help, _ := run(t.Context(), "profile", "recommend", "--help")
	for _, way := range []string{"apply -f - --server-side --force-conflicts --field-manager spazio-recommend", "patch -f FILE --patch-file FILE --field-manager spazio-recommend"} {
		if !strings.Contains(help, way) {
			t.Errorf("the manifest is applied by kubectl's own field manager, not by %s:\n%s", way, help)
		}
	}
}

func TestManifestsOfMany(t *testing.T) {
	const many = 60
	var items []string
	for n := range many {
		items = append(items, strings.ReplaceAll(webProfile, `"name": "web"`, fmt.Sprintf(`"name": "web%d"`, n)))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.URL.Path, "/deployments/") {
			fmt.Fprint(w, `{"spec": {"template": {"spec": {"containers": [{"name": "main"}]}}}}`)
			return
		}
		fmt.Fprintf(w, `{"apiVersion": "profile.spazio-scheduler.github.io/v1alpha1", "kind": "WorkloadProfileList", "metadata": {}, "items": [%s]}`, strings.Join(items, ","))
	}))
	defer server.Close()
	code, out, errs := run(t.Context(), "profile", "recommend", "-A", "-o", "yaml", "--timeout", "5s", "--kubeconfig", transporttest.Kubeconfig(t, server.URL, "shop"))
	if code != 0 || strings.Count(out, "- name: main") != many || strings.Contains(out, "#") {
		t.Errorf("exit %d: %d manifests\n%s%s", code, strings.Count(out, "- name: main"), out, errs)
	}
}

func TestProfileRefuses(t *testing.T) {
	kubeconfig := profileServer(t)
	for _, test := range []struct {
		args     []string
		code     int
		wantText string
	}{
		{[]string{"list", "-o", "yaml"}, command.ExitUsage, "--output"},
		{[]string{"list", "--timeout", "0s"}, command.ExitUsage, "--timeout"},
		{[]string{"show", "a/b/c"}, command.ExitUsage, "workload = a/b/c"},
		{[]string{"show"}, command.ExitUsage, "accepts 1 arg"},
		{[]string{"show", "cart"}, command.ExitFailure, "Deployment/cart in namespace shop"},
		{[]string{"list", "-n", "other"}, command.ExitFailure, `no profiles are in this cluster: "spazio install" adds them`},
		{[]string{"list", "--context", "none"}, command.ExitUsage, "--kubeconfig"},
	} {
		code, _, errs := run(t.Context(), append(append([]string{"profile"}, test.args...), "--kubeconfig", kubeconfig)...)
		if code != test.code || !strings.Contains(errs, test.wantText) {
			t.Errorf("%v: exit %d, %s", test.args, code, errs)
		}
	}
}
