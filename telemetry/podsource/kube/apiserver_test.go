package kube_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// apiserver serves lists and watches of pods as the API server does.
type apiserver struct {
	t      *testing.T
	server *httptest.Server

	mu       sync.Mutex
	version  int
	pods     map[string]*corev1.Pod // by name
	history  []change
	kept     int           // the oldest version that a watch may begin with
	changed  chan struct{} // closed at the next change
	cut      chan struct{} // closed to cut the watches
	down     bool
	expired  bool // every watch is refused
	pageSize int
	lists    int
	paged    map[string]corev1.PodList // what is left of a list, by continue token
}

type change struct {
	version int
	kind    watch.EventType
	pod     *corev1.Pod
}

func newAPIServer(t *testing.T) *apiserver {
	a := &apiserver{t: t, pods: map[string]*corev1.Pod{}, changed: make(chan struct{}), cut: make(chan struct{}), version: 10, pageSize: 3, paged: map[string]corev1.PodList{}}
	a.server = httptest.NewServer(a)
	t.Cleanup(func() {
		a.disconnect()
		a.server.Close()
	})
	return a
}

func (a *apiserver) config() *rest.Config { return &rest.Config{Host: a.server.URL, QPS: -1} }

// set stores a pod with one container in each of the given states.
func (a *apiserver) set(name string, running ...bool) { a.put(name, nil, running...) }

func (a *apiserver) put(name string, annotations map[string]string, running ...bool) {
	var status corev1.PodStatus
	for i, r := range running {
		s := corev1.ContainerStatus{Name: strconv.Itoa(i)}
		if r {
			s.State.Running = &corev1.ContainerStateRunning{}
		} else {
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		}
		status.ContainerStatuses = append(status.ContainerStatuses, s)
	}
	a.putStatus(name, annotations, status)
}

func (a *apiserver) putStatus(name string, annotations map[string]string, status corev1.PodStatus) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: uid(name), Annotations: annotations}}
	p.Spec.NodeName = node
	p.Status = status
	a.mu.Lock()
	defer a.mu.Unlock()
	kind := watch.Added
	if a.pods[name] != nil {
		kind = watch.Modified
	}
	a.change(kind, p)
}

func (a *apiserver) delete(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.pods[name]; p != nil {
		a.change(watch.Deleted, p.DeepCopy())
	}
}

// bookmark sends all watches only the version.
func (a *apiserver) bookmark() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.change(watch.Bookmark, &corev1.Pod{})
}

func (a *apiserver) change(kind watch.EventType, p *corev1.Pod) {
	a.version++
	p.ResourceVersion = strconv.Itoa(a.version)
	p.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	switch kind {
	case watch.Deleted:
		delete(a.pods, p.Name)
	case watch.Added, watch.Modified:
		a.pods[p.Name] = p
	}
	a.history = append(a.history, change{a.version, kind, p})
	close(a.changed)
	a.changed = make(chan struct{})
}

// compact forgets all past events.
func (a *apiserver) compact() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	a.history, a.kept = nil, a.version
}

// disconnect closes all watches.
func (a *apiserver) disconnect() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.cut)
	a.cut = make(chan struct{})
}

func (a *apiserver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.URL.Path != "/api/v1/pods" || q.Get("fieldSelector") != "spec.nodeName="+node {
		a.t.Errorf("asked for %s", r.URL)
	}
	a.mu.Lock()
	down := a.down
	a.mu.Unlock()
	switch {
	case down:
		answer(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	case q.Get("watch") != "":
		a.watch(w, r)
	default:
		a.list(w, q.Get("continue"))
	}
}

func answer(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	_ = json.NewEncoder(w).Encode(failure(code, reason))
}

func failure(code int32, reason metav1.StatusReason) *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason}
}

// list answers with a page; all pages of a list are of one version.
func (a *apiserver) list(w http.ResponseWriter, from string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rest, paged := a.paged[from]
	if !paged {
		a.lists++
		rest = corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
		rest.ResourceVersion = strconv.Itoa(a.version)
		for _, name := range slices.Sorted(maps.Keys(a.pods)) {
			rest.Items = append(rest.Items, *a.pods[name])
		}
	}
	out := rest
	if len(out.Items) > a.pageSize {
		out.Continue = fmt.Sprintf("%d of list %d", len(out.Items), a.lists)
		out.Items, rest.Items = rest.Items[:a.pageSize], rest.Items[a.pageSize:]
		a.paged[out.Continue] = rest
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}

// news is what a watch has to send and to wait for.
type news struct {
	expired      bool
	changes      []change
	changed, cut chan struct{}
}

// since returns what happened after a version.
func (a *apiserver) since(version int) news {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := news{expired: a.expired || version < a.kept, changed: a.changed, cut: a.cut}
	for _, c := range a.history {
		if c.version > version {
			n.changes = append(n.changes, c)
		}
	}
	return n
}

func (a *apiserver) watch(w http.ResponseWriter, r *http.Request) {
	version, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		a.t.Errorf("watch from %q", r.URL.Query().Get("resourceVersion"))
	}
	first := a.since(version)
	if first.expired && version%2 == 0 { // in an answer or in an event
		answer(w, http.StatusGone, metav1.StatusReasonExpired)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	send := func(kind watch.EventType, object any) {
		raw, err := json.Marshal(object)
		if err != nil {
			a.t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: raw}})
		_ = http.NewResponseController(w).Flush()
	}
	_ = http.NewResponseController(w).Flush()
	for {
		n := a.since(version)
		if n.expired {
			send(watch.Error, failure(http.StatusGone, metav1.StatusReasonExpired))
			return
		}
		for _, c := range n.changes {
			version = c.version
			send(c.kind, c.pod)
		}
		select {
		case <-n.changed:
		case <-first.cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}
