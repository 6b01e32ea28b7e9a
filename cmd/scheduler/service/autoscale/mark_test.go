package autoscale_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	listers "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/cmd/scheduler/service/autoscale"
	"github.com/spazio-scheduler/spazio/plugin"
)

var errRefused = errors.New("refused")

// marks is a Controller, with the API's answers and received requests.
type marks struct {
	*autoscale.Controller
	now      time.Time
	answers  map[string]func(applied *corev1.Node) (*corev1.Node, error)
	received []string
}

func newMarks(t *testing.T, nodes int) *marks {
	t.Helper()
	controller, err := autoscale.New(autoscale.Config{Namespace: "spazio"})
	if err != nil {
		t.Fatal(err)
	}
	m := &marks{Controller: controller, now: time.Unix(1e9, 0), answers: map[string]func(*corev1.Node) (*corev1.Node, error){}}
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	for i := range nodes {
		if err := indexer.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), UID: types.UID("uid-" + nodeName(i))}}); err != nil {
			t.Fatal(err)
		}
	}
	client := fake.NewClientset()
	client.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		patch, applied := a.(clienttesting.PatchAction), &corev1.Node{}
		if err := json.Unmarshal(patch.GetPatch(), applied); err != nil {
			t.Fatal(err)
		}
		if want := types.UID("uid-" + patch.GetName()); applied.UID != want {
			t.Errorf("%s is applied as %q, want %q: the API server would create it anew", patch.GetName(), applied.UID, want)
		}
		m.received = append(m.received, patch.GetName())
		if answer := m.answers[patch.GetName()]; answer != nil {
			got, err := answer(applied)
			return true, got, err
		}
		return true, applied, nil
	})
	m.Connect(client, nil, listers.NewNodeLister(indexer), nil, func() time.Time { return m.now })
	return m
}

func nodeName(i int) string { return fmt.Sprintf("n%02d", i) }

// all returns changes of that many nodes.
func all(nodes int) (changes []autoscale.NodeChange) {
	for i := range nodes {
		changes = append(changes, autoscale.NodeChange{Node: nodeName(i), Full: true})
	}
	return changes
}

func refuses(*corev1.Node) (*corev1.Node, error) { return nil, errRefused }

// TestMark: a node that cannot be written keeps no other from being written, and is left alone for a
// while.
func TestMark(t *testing.T) {
	conflict := func(causes ...metav1.StatusCause) func(*corev1.Node) (*corev1.Node, error) {
		return func(*corev1.Node) (*corev1.Node, error) {
			err := apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "", errRefused)
			err.ErrStatus.Details.Causes = causes
			return nil, err
		}
	}
	for name, c := range map[string]struct {
		answer   func(*corev1.Node) (*corev1.Node, error)
		deferred bool
		fails    bool
	}{
		"refuses":               {refuses, true, true},
		"is deleted":            {conflict(), false, false},
		"has another's field":   {conflict(metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict}), true, true},
		"keeps another's label": {func(n *corev1.Node) (*corev1.Node, error) { n.Labels[plugin.ProtectedLabel] = "true"; return n, nil }, true, false},
		"has what it should":    {nil, false, false},
		"has what others set":   {func(n *corev1.Node) (*corev1.Node, error) { n.Labels["disk"] = "ssd"; return n, nil }, false, false},
		"is known to be deleted": {func(*corev1.Node) (*corev1.Node, error) {
			return nil, apierrors.NewNotFound(schema.GroupResource{}, "")
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarks(t, 3)
			m.answers[nodeName(0)] = c.answer
			deferred, err := m.Mark(t.Context(), all(3))
			if len(m.received) != 3 {
				t.Errorf("%v are written, want all", m.received)
			}
			if (len(deferred) == 1) != c.deferred || (err != nil) != c.fails {
				t.Errorf("%v is put off, %v", deferred, err)
			}
		})
	}
}

// A node that fails again is put off for longer, and its error stays until it is written.
func TestMarkPutsOff(t *testing.T) {
	m := newMarks(t, 1)
	m.answers[nodeName(0)] = refuses
	for i, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		if deferred, err := m.Mark(t.Context(), all(1)); len(deferred) != 1 || err == nil {
			t.Fatalf("time %d: %v, %v", i, deferred, err)
		}
		m.now = m.now.Add(pause - 1)
		if _, err := m.Mark(t.Context(), nil); err == nil {
			t.Errorf("time %d: the error is forgotten", i)
		}
		m.now = m.now.Add(1)
	}
	m.answers[nodeName(0)] = nil
	if deferred, err := m.Mark(t.Context(), all(1)); len(deferred) > 0 || err != nil {
		t.Errorf("written, but %v, %v", deferred, err)
	}
}

// If the API refuses all nodes, a pass tries a few of them, the next pass others.
func TestMarkGivesUp(t *testing.T) {
	m := newMarks(t, 20)
	for i := range 20 {
		m.answers[nodeName(i)] = refuses
	}
	deferred, err := m.Mark(t.Context(), all(20))
	if want := []string{"n00", "n01", "n02", "n03", "n04"}; cmp.Diff(want, m.received) != "" || cmp.Diff(want, deferred) != "" || err == nil {
		t.Errorf("%v are tried, %v put off, %v", m.received, deferred, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := m.Mark(ended, all(20)); len(m.received) != 5 {
		t.Errorf("%v are tried after the end of the pass, %v", m.received, err)
	}
}

// TestLeaderTransport: a scheduler that no longer leads reads and does not write.
func TestLeaderTransport(t *testing.T) {
	for _, leads := range []bool{true, false} {
		var sent []string
		transport := autoscale.LeaderTransport(roundTripper(func(r *http.Request) { sent = append(sent, r.Method) }), func() bool { return leads })
		for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
			request, err := http.NewRequestWithContext(t.Context(), method, "http://localhost", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := transport.RoundTrip(request)
			if err == nil {
				err = response.Body.Close()
			}
			if isSent := leads || method == http.MethodGet; isSent != (err == nil) {
				t.Errorf("leads %v: %s: %v", leads, method, err)
			}
		}
		want := "GET PATCH DELETE"
		if !leads {
			want = "GET"
		}
		if got := strings.Join(sent, " "); got != want {
			t.Errorf("leads %v: %s is sent, want %s", leads, got, want)
		}
	}
}

type roundTripper func(*http.Request)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}
