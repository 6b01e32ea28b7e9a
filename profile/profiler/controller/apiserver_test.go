package controller_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
)

type object = map[string]any

const group = "/apis/profile.spazio-scheduler.github.io/v1alpha1"

// apiServer is the part of one that a Controller uses: it stores objects by path, refuses writes of
// an old version, and streams changes.
type apiServer struct {
	url string
	// before and after, if set, are called with each write, before it takes effect and before it is
	// answered.
	before, after func(method, path string)

	mu       sync.Mutex
	version  int
	objects  map[string]object // by path
	watchers map[chan object]watcher
	writes   []string // "METHOD path", those of leases and events aside
	events   []object
	conflict int      // so many updates to come are refused
	leases   []string // whose rights were asked about
	denied   string   // the verb that no one may use
}

// watcher follows a resource's objects that labels select.
type watcher struct {
	resource string
	selects  labels.Selector
}

func (w watcher) matches(path string, o object) bool {
	metadata, _ := o["metadata"].(map[string]any)
	set := labels.Set{}
	if all, ok := metadata["labels"].(map[string]any); ok {
		for name, value := range all {
			set[name], _ = value.(string)
		}
	}
	return strings.Contains(path, "/"+w.resource+"/") && w.selects.Matches(set)
}

// These are the groups that a recommender writes or watches.
const (
	liqoGroup = "/apis/webapp.liqo.io.profiling/v1"
	vpaGroup  = "/apis/autoscaling.k8s.io/v1"
	hpaGroup  = "/apis/autoscaling/v2"
)

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{objects: map[string]object{}, watchers: map[chan object]watcher{}}
	s.objects["/apis/coordination.k8s.io/v1/namespaces/system/leases/spazio-profiler"] = object{
		"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": object{"name": "spazio-profiler", "namespace": "system", "resourceVersion": "1"}, "spec": object{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/pods", func(w http.ResponseWriter, r *http.Request) { s.watch(w, r, "/api/v1/", "Pod", "v1", "pods") })
	mux.HandleFunc("GET "+group+"/workloadprofiles", func(w http.ResponseWriter, r *http.Request) {
		s.watch(w, r, group, "WorkloadProfile", v1alpha1.GroupVersion.String(), "workloadprofiles")
	})
	for _, w := range []struct{ prefix, kind, resource string }{
		{liqoGroup, "ConnectionProfile", "connectionprofiles"}, {vpaGroup, "VerticalPodAutoscaler", "verticalpodautoscalers"},
		{hpaGroup, "HorizontalPodAutoscaler", "horizontalpodautoscalers"},
	} {
		mux.HandleFunc("GET "+w.prefix+"/"+w.resource, func(out http.ResponseWriter, r *http.Request) {
			s.watch(out, r, w.prefix, w.kind, strings.TrimPrefix(w.prefix, "/apis/"), w.resource)
		})
	}
	mux.HandleFunc("GET "+group+"/namespaces/{namespace}/workloadprofilecheckpoints", s.checkpoints)
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", s.review)
	mux.HandleFunc("/", s.serve)
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.url = server.URL
	return s
}

func (s *apiServer) config() *rest.Config { return &rest.Config{Host: s.url} }

func answer(w http.ResponseWriter, code int, o any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(o)
}

func refuse(w http.ResponseWriter, code int, reason string) {
	answer(w, code, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code})
}

func (s *apiServer) review(w http.ResponseWriter, r *http.Request) {
	var review authorizationv1.SelfSubjectAccessReview
	_ = json.NewDecoder(r.Body).Decode(&review)
	s.mu.Lock()
	if a := review.Spec.ResourceAttributes; a != nil && a.Resource == "leases" {
		s.leases = append(s.leases, a.Namespace+"/"+a.Name)
	}
	s.mu.Unlock()
	allowed := review.Spec.ResourceAttributes == nil || review.Spec.ResourceAttributes.Verb != s.denied
	answer(w, http.StatusCreated, object{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": object{"allowed": allowed}})
}

// of returns the objects of a resource in all namespaces, by path.
func (s *apiServer) of(prefix, resource string) (paths []string) {
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		if strings.HasPrefix(path, prefix) && strings.Contains(path, "/"+resource+"/") {
			paths = append(paths, path)
		}
	}
	return paths
}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, prefix, kind, version, resource string) {
	if r.FormValue("watch") == "" {
		refuse(w, http.StatusBadRequest, "BadRequest")
		return
	}
	changes := make(chan object, 1000)
	selector, err := labels.Parse(r.FormValue("labelSelector"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "BadRequest")
		return
	}
	watching := watcher{resource, selector}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	send := func(kind string, o object) { _ = json.NewEncoder(w).Encode(object{"type": kind, "object": o}) }
	s.mu.Lock()
	if r.FormValue("sendInitialEvents") == "true" {
		for _, path := range s.of(prefix, resource) {
			if watching.matches(path, s.objects[path]) {
				send("ADDED", s.objects[path])
			}
		}
	}
	s.watchers[changes] = watching
	end := object{"kind": kind, "apiVersion": version, "metadata": object{"resourceVersion": strconv.Itoa(s.version), "annotations": object{"k8s.io/initial-events-end": "true"}}}
	s.mu.Unlock()
	send("BOOKMARK", end)
	w.(http.Flusher).Flush()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, changes)
	}()
	for {
		select {
		case <-r.Context().Done():
			return
		case change := <-changes:
			_ = json.NewEncoder(w).Encode(change)
			w.(http.Flusher).Flush()
		}
	}
}

func (s *apiServer) checkpoints(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []object{}
	for _, path := range s.of(group+"/namespaces/"+r.PathValue("namespace")+"/", "workloadprofilecheckpoints") {
		items = append(items, s.objects[path])
	}
	answer(w, http.StatusOK, object{"kind": "WorkloadProfileCheckpointList", "apiVersion": v1alpha1.GroupVersion.String(), "metadata": object{"resourceVersion": "1"}, "items": items})
}

// put keeps an object and notifies the watchers; mu is held.
func (s *apiServer) put(path string, o object) {
	s.version++
	_, known := s.objects[path]
	metadata, _ := o["metadata"].(map[string]any)
	metadata["resourceVersion"] = strconv.Itoa(s.version)
	s.objects[path] = o
	kind := "ADDED"
	if known {
		kind = "MODIFIED"
	}
	s.tell(kind, path, o)
}

func (s *apiServer) tell(kind, path string, o object) {
	for changes, w := range s.watchers {
		if w.matches(path, o) {
			changes <- object{"type": kind, "object": copied(o)}
		}
	}
}

func copied(o object) (c object) {
	text, _ := json.Marshal(o)
	_ = json.Unmarshal(text, &c)
	return c
}

func (s *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	writes := (strings.HasPrefix(r.URL.Path, group) || strings.HasSuffix(r.URL.Path, "/resize")) && r.Method != http.MethodGet
	if writes && s.before != nil {
		s.before(r.Method, r.URL.Path)
	}
	answer := httptest.NewRecorder()
	s.handle(answer, r)
	if writes && s.after != nil {
		s.after(r.Method, r.URL.Path)
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (s *apiServer) handle(w http.ResponseWriter, r *http.Request) {
	ours := strings.HasPrefix(r.URL.Path, group)
	var body object
	if r.Method != http.MethodGet {
		_ = json.NewDecoder(r.Body).Decode(&body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	others := strings.HasPrefix(r.URL.Path, liqoGroup) || strings.HasPrefix(r.URL.Path, vpaGroup) || strings.HasSuffix(r.URL.Path, "/resize")
	if (ours || others) && r.Method != http.MethodGet {
		s.writes = append(s.writes, r.Method+" "+r.URL.Path)
	}
	if strings.HasSuffix(r.URL.Path, "/events") {
		s.events = append(s.events, body)
		answer(w, http.StatusCreated, body)
		return
	}
	path := r.URL.Path
	if r.Method == http.MethodPost {
		path += "/" + body["metadata"].(map[string]any)["name"].(string)
	}
	path, isStatus := strings.CutSuffix(path, "/status")
	path, isResize := strings.CutSuffix(path, "/resize")
	known := s.objects[path]
	applies := r.Header.Get("Content-Type") == "application/apply-patch+yaml"
	switch {
	case known == nil && applies:
		s.put(path, body)
		answer(w, http.StatusCreated, body)
		return
	case known == nil && r.Method != http.MethodPost:
		refuse(w, http.StatusNotFound, "NotFound")
		return
	case known != nil && r.Method == http.MethodPost:
		refuse(w, http.StatusConflict, "AlreadyExists")
		return
	case r.Method == http.MethodGet:
		answer(w, http.StatusOK, known)
		return
	case r.Method == http.MethodDelete:
		delete(s.objects, path)
		s.version++
		s.tell("DELETED", path, known)
		answer(w, http.StatusOK, object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
		return
	case isResize:
		o, ok := resized(known, body)
		if !ok {
			refuse(w, http.StatusConflict, "Conflict")
			return
		}
		body = o
	case r.Method == http.MethodPatch:
		o := copied(known)
		maps.Copy(o, body)
		body = o
	case r.Method == http.MethodPut:
		version := body["metadata"].(map[string]any)["resourceVersion"]
		if s.conflict > 0 || version != "" && version != nil && version != known["metadata"].(map[string]any)["resourceVersion"] {
			s.conflict = max(s.conflict-1, 0)
			refuse(w, http.StatusConflict, "Conflict")
			return
		}
	}
	if isStatus {
		o := copied(known)
		o["status"] = body["status"]
		body = o
	} else if r.Method == http.MethodPost && strings.Contains(path, "/workloadprofiles/") {
		delete(body, "status")
		body["metadata"].(map[string]any)["uid"] = fmt.Sprint("uid-", s.version)
	}
	s.put(path, body)
	code := http.StatusOK
	if r.Method == http.MethodPost {
		code = http.StatusCreated
	}
	answer(w, code, body)
}

// resized returns a pod with the requests of a patch; ok is false if its version differs.
func resized(pod, patch object) (o object, ok bool) {
	if patch["metadata"].(map[string]any)["resourceVersion"] != pod["metadata"].(map[string]any)["resourceVersion"] {
		return nil, false
	}
	containers := func(o object) []any { return o["spec"].(map[string]any)["containers"].([]any) }
	o = copied(pod)
	for _, change := range containers(patch) {
		change := change.(map[string]any)
		for _, c := range containers(o) {
			if c := c.(map[string]any); c["name"] == change["name"] {
				maps.Copy(c["resources"].(map[string]any)["requests"].(map[string]any), change["resources"].(map[string]any)["requests"].(map[string]any))
			}
		}
	}
	return o, true
}

// get returns a copy of the object at a path, nil if there is none.
func (s *apiServer) get(path string) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[path] == nil {
		return nil
	}
	return copied(s.objects[path])
}

// edit changes an object as another client.
func (s *apiServer) edit(t *testing.T, path string, change func(object)) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	o := copied(s.objects[path])
	if o == nil {
		t.Fatalf("no %s", path)
	}
	change(o)
	s.put(path, o)
}

func (s *apiServer) remove(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[path]
	delete(s.objects, path)
	s.version++
	s.tell("DELETED", path, o)
}

// make adds an object.
func (s *apiServer) make(path string, o any) {
	text, _ := json.Marshal(o)
	var made object
	_ = json.Unmarshal(text, &made)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(path, made)
}

// pod adds one of a Deployment, bound to a node.
func (s *apiServer) pod(p *corev1.Pod) { s.make("/api/v1/namespaces/"+p.Namespace+"/pods/"+p.Name, p) }

// written counts the writes whose method and path begin with and contain that.
func (s *apiServer) written(method, part string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.writes {
		if strings.HasPrefix(w, method) && strings.Contains(w, part) {
			n++
		}
	}
	return n
}

// profile returns the one at a path, nil if there is none.
func (s *apiServer) profile(path string) *v1alpha1.WorkloadProfile {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[path] == nil {
		return nil
	}
	text, _ := json.Marshal(s.objects[path])
	p := &v1alpha1.WorkloadProfile{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil
	}
	return p
}
