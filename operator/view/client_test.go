package view_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/operator/view"
)

// A Testbed that changes while its pods are read is read again, so that its claims and the pods are
// of one time; if it always changes, the number of reads is bounded.
func TestSnapshot(t *testing.T) {
	for name, test := range map[string]struct {
		changes, reads int
		claimed        bool
	}{
		"quiet": {0, 2, false}, "a claim is written": {1, 3, true}, "restless": {1000, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			tb, reads := bed(), 0
			tb.APIVersion, tb.Kind, tb.ResourceVersion = "testbed.spazio-scheduler.github.io/v1alpha1", "Testbed", "1"
			var pods []corev1.Pod
			mux := http.NewServeMux()
			answer := func(w http.ResponseWriter, o any) {
				w.Header().Set("Content-Type", "application/json")
				if err := json.NewEncoder(w).Encode(o); err != nil {
					t.Error(err)
				}
			}
			mux.HandleFunc("GET /apis/testbed.spazio-scheduler.github.io/v1alpha1/namespaces/lab/testbeds/bed", func(w http.ResponseWriter, _ *http.Request) {
				reads++
				answer(w, tb)
			})
			mux.HandleFunc("GET /api/v1/pods", func(w http.ResponseWriter, _ *http.Request) {
				if reads <= test.changes { // a job gets a slot, and its pod comes, after the Testbed was read
					tb.ResourceVersion = strings.Repeat("1", reads+1)
					tb.Status.Claims = nil
					claim(tb, "j", "b/0")
					pods = []corev1.Pod{pod("j", "b/0", "b")}
				}
				answer(w, &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: pods})
			})
			server := httptest.NewServer(mux)
			defer server.Close()
			c, err := view.NewClient(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
			if err != nil {
				t.Fatal(err)
			}
			got, found, err := c.Snapshot(t.Context(), "lab", "bed")
			if err != nil {
				t.Fatal(err)
			}
			if reads != test.reads || (len(got.Status.Claims) == 1) != test.claimed || (len(found) == 1) != test.claimed {
				t.Errorf("read %d times: claims %+v, pods %d", reads, got.Status.Claims, len(found))
			}
		})
	}
}
