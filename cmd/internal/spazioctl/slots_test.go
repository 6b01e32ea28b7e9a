package spazioctl_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// bed has two nodes of two slots, beta before alpha by their labels, and one without any; gamma is
// another Testbed's. Two jobs have claims, one of them in another namespace.
const bed = `{"apiVersion": "testbed.spazio-scheduler.github.io/v1alpha1", "kind": "Testbed",
"metadata": {"name": "bed", "namespace": "shop", "uid": "590f6f41-4acd"},
"spec": {"nodeLabel": "example.com/slots", "slotsPerNode": 2, "resourcesPerSlot": {"cpu": "1"}, "maxSlots": 5000},
"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "NodeConflict", "message": "gamma is of lab/old", "lastTransitionTime": "2026-11-22T09:00:00Z"}],
"nodes": ["beta 2", "alpha 2", "delta 0/2 TooLarge"],
"counts": {"slots": 5, "free": 0, "reserved": 1, "occupied": 2, "pending": 1, "retiring": 1},
"claims": [
{"batchJobUID": "j1", "batchJob": "shop/crawler", "scheduling": "shop/s", "schedulingUID": "s", "slots": ["beta/0", "beta/1"], "since": "2026-11-22T09:00:00Z"},
{"batchJobUID": "j2", "batchJob": "lab/sort", "scheduling": "lab/s", "schedulingUID": "t", "slots": ["alpha/0", "gone/0"], "since": "2026-11-22T09:00:00Z"}]}}`

// slotPod returns a pod in a slot, a placeholder if it has no job.
func slotPod(namespace, name, job, slot, node string) string {
	role, owner := "placeholder", ""
	if job != "" {
		role, owner = "slot", fmt.Sprintf(`, "testbed.spazio-scheduler.github.io/batchjob-uid": %q`, job)
	}
	return fmt.Sprintf(`{"metadata": {"name": %q, "namespace": %q, "uid": %q, "creationTimestamp": "2026-11-22T09:00:00Z",
"labels": {"testbed.spazio-scheduler.github.io/role": %q, "testbed.spazio-scheduler.github.io/testbed-uid": "590f6f41-4acd"%s},
"annotations": {"testbed.spazio-scheduler.github.io/slot": %q}}, "spec": {"nodeName": %q}, "status": {"phase": "Running"}}`, name, namespace, "u-"+name, role, owner, slot, node)
}

// bedServer starts an API server with that Testbed. A user who may not list pods of all namespaces gets
// them one namespace after another.
func bedServer(t *testing.T, everywhere bool) string {
	t.Helper()
	return bedServerOf(t, bed, everywhere)
}

// bedServerOf is bedServer with another Testbed.
func bedServerOf(t *testing.T, bed string, everywhere bool) string {
	t.Helper()
	pods := map[string][]string{
		"shop": {
			slotPod("shop", "crawler-r1-x", "j1", "beta/0", "beta"), slotPod("shop", "placeholder-beta-1", "", "beta/1", "beta"),
			slotPod("shop", "placeholder-alpha-1", "", "alpha/1", ""),
		},
		"lab": {slotPod("lab", "sort-r1-x", "j2", "alpha/0", "alpha"), slotPod("lab", "sort-r1-y", "j2", "gone/0", "gone")},
	}
	mux := http.NewServeMux()
	say := func(path string, code int, text string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			if selector := r.URL.Query().Get("labelSelector"); strings.HasSuffix(path, "pods") && selector != "testbed.spazio-scheduler.github.io/testbed-uid=590f6f41-4acd" {
				t.Errorf("got selector %q", selector)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(text))
		})
	}
	list := func(of ...string) string {
		return `{"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [` + strings.Join(of, ",") + "]}"
	}
	const group = "/apis/testbed.spazio-scheduler.github.io/v1alpha1/"
	say(group+"namespaces/shop/testbeds/bed", http.StatusOK, bed)
	say(group+"testbeds", http.StatusOK, `{"kind": "TestbedList", "apiVersion": "testbed.spazio-scheduler.github.io/v1alpha1", "metadata": {}, "items": [`+bed+"]}")
	missing := `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
	say(group+"namespaces/{namespace}/testbeds/{name}", http.StatusNotFound, missing)
	if everywhere {
		say("/api/v1/pods", http.StatusOK, list(append(pods["shop"], pods["lab"]...)...))
	} else {
		say("/api/v1/pods", http.StatusForbidden, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`)
		say("/api/v1/namespaces/shop/pods", http.StatusOK, list(pods["shop"]...))
		say("/api/v1/namespaces/lab/pods", http.StatusOK, list(pods["lab"]...))
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return transporttest.Kubeconfig(t, server.URL, "shop")
}

func TestSlots(t *testing.T) {
	const want = `bed: slots 5, nodes 3: 1 reserved, 2 occupied, 1 pending, 1 retiring; not ready: gamma is of lab/old
INDEX  ID       NODE   STATE     POD            JOB
    0  beta/0   beta   occupied  crawler-r1-x   crawler
    1  alpha/0  alpha  occupied  lab/sort-r1-x  lab/sort
    2  beta/1   beta   reserved  -              crawler
    3  alpha/1  alpha  pending   -              -
    4  gone/0   gone   retiring  lab/sort-r1-y  lab/sort
delta has 0 of 2 slots: TooLarge
`
	for _, everywhere := range []bool{true, false} {
		code, out, errs := run(t.Context(), "slots", "bed", "--kubeconfig", bedServer(t, everywhere))
		if code != 0 || errs != "" {
			t.Fatalf("exit %d: %s", code, errs)
		}
		if diff := cmp.Diff(want, out); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSlotsAsJSON(t *testing.T) {
	const want = `[
  {
    "id": "beta/0",
    "index": 0,
    "nodeName": "beta",
    "nodeId": 0,
    "slotPositionOnNode": 0,
    "state": "occupied",
    "podNamespace": "shop",
    "podName": "crawler-r1-x",
    "podUId": "u-crawler-r1-x",
    "reservedFor": "shop/crawler"
  },
  {
    "id": "alpha/0",
    "index": 1,
    "nodeName": "alpha",
    "nodeId": 1,
    "slotPositionOnNode": 0,
    "state": "occupied",
    "podNamespace": "lab",
    "podName": "sort-r1-x",
    "podUId": "u-sort-r1-x",
    "reservedFor": "lab/sort"
  },
  {
    "id": "beta/1",
    "index": 2,
    "nodeName": "beta",
    "nodeId": 0,
    "slotPositionOnNode": 1,
    "state": "reserved",
    "reservedFor": "shop/crawler"
  },
  {
    "id": "alpha/1",
    "index": 3,
    "nodeName": "alpha",
    "nodeId": 1,
    "slotPositionOnNode": 1,
    "state": "pending"
  },
  {
    "id": "gone/0",
    "index": 4,
    "nodeName": "gone",
    "slotPositionOnNode": 0,
    "state": "retiring",
    "podNamespace": "lab",
    "podName": "sort-r1-y",
    "podUId": "u-sort-r1-y",
    "reservedFor": "lab/sort"
  }
]
`
	code, out, errs := run(t.Context(), "slots", "bed", "-n", "shop", "--output", "json", "--kubeconfig", bedServer(t, true))
	if diff := cmp.Diff(want, out); code != 0 || errs != "" || diff != "" {
		t.Errorf("exit %d: %s%s", code, errs, diff)
	}
}

func TestSlotsRefuses(t *testing.T) {
	kubeconfig := bedServer(t, true)
	nothing := httptest.NewServer(http.NotFoundHandler())
	defer nothing.Close()
	for _, test := range []struct {
		args     []string
		code     int
		wantText []string
	}{
		{[]string{"bed", "-o", "yaml"}, command.ExitUsage, []string{"--output"}},
		{[]string{"bed", "--timeout", "0s"}, command.ExitUsage, []string{"--timeout"}},
		{[]string{}, command.ExitUsage, []string{"accepts 1 arg"}},
		{[]string{"bed", "--context", "none"}, command.ExitUsage, []string{"--kubeconfig"}},
		{[]string{"bad"}, command.ExitFailure, []string{"bad in namespace shop", "there are shop/bed", "--namespace"}},
		{[]string{"bed", "-n", "lab"}, command.ExitFailure, []string{"bed in namespace lab", "there are shop/bed"}},
		{[]string{"bed", "--kubeconfig", transporttest.Kubeconfig(t, nothing.URL, "shop")}, command.ExitFailure, []string{"spazio install --component testbed"}},
	} {
		code, out, errs := run(t.Context(), append([]string{"slots", "--kubeconfig", kubeconfig}, test.args...)...)
		for _, text := range test.wantText {
			if code != test.code || out != "" || !strings.Contains(errs, text) {
				t.Errorf("%v: exit %d, %s%s", test.args, code, out, errs)
			}
		}
	}
}

// Names of maximal length keep the table within a terminal's width.
func TestSlotsFit(t *testing.T) {
	long := strings.Repeat("n", 250)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "pods") {
			fmt.Fprintf(w, `{"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [%s]}`, slotPod("shop", long, "j1", long+"/0", long))
			return
		}
		fmt.Fprint(w, strings.NewReplacer("beta", long).Replace(bed))
	}))
	defer server.Close()
	code, out, errs := run(t.Context(), "slots", "bed", "--kubeconfig", transporttest.Kubeconfig(t, server.URL, "shop"))
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for line := range strings.Lines(out) {
		if n := text.Width(strings.TrimSuffix(line, "\n")); n > 120 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
