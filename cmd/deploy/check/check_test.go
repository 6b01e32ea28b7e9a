package check_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/check"
)

// An API server that does not answer is reported once, and nodes are not reported if no program
// could know them.
func TestSaysOnceWhatIsMissing(t *testing.T) {
	mux := http.NewServeMux()
	answer := func(path string, with any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(with)
		})
	}
	nodes := corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}}
	for i := range 20 {
		nodes.Items = append(nodes.Items, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}})
	}
	answer("/api/v1/nodes", nodes)
	answer("/version", version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"})
	answer("/", map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{}, "items": []any{}})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for name, test := range map[string]struct {
		host string
		rows int
		last string
	}{
		"no API server":     {"http://127.0.0.1:1", 1, "the API server does not answer"},
		"nothing installed": {server.URL, 3, "nothing is installed"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, err := deploy.Connect(&rest.Config{Host: test.host})
			if err != nil {
				t.Fatal(err)
			}
			report, err := check.Run(t.Context(), check.Config{Cluster: cluster})
			if err != nil || report.OK || len(report.Results) != test.rows {
				t.Fatalf("%v: %+v, want %d results", err, report.Results, test.rows)
			}
			if last := report.Results[test.rows-1]; !strings.Contains(last.Text, test.last) || len(last.Advice) == 0 {
				t.Errorf("%+v does not say %q and what to do", last, test.last)
			}
		})
	}
}
