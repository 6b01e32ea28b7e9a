package service_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

type fields = map[string]any

// resource is a resource of the apiServer.
type resource struct {
	path, name, kind string
	namespaced       bool
}

var resources = []resource{
	{"/api/v1", "pods", "Pod", true},
	{"/api/v1", "nodes", "Node", false},
	{"/apis/batch/v1", "jobs", "Job", true},
	{"/apis/coordination.k8s.io/v1", "leases", "Lease", true},
	{"/apis/events.k8s.io/v1", "events", "Event", true},
	{"/apis/" + v1alpha1.GroupVersion.String(), v1alpha1.Testbeds, "Testbed", true},
	{"/apis/" + v1alpha1.GroupVersion.String(), v1alpha1.BatchJobs, "BatchJob", true},
	{"/apis/" + v1alpha1.GroupVersion.String(), v1alpha1.Schedulings, "Scheduling", true},
}

// apiServer is the API that a service needs: it lists its resources, without objects, and accepts
// leases. (Tests in cmd run the controllers with a real one.)
type apiServer struct {
	url string
	// held is closed once watches of the resource in hold may report that they are complete.
	hold string
	held chan struct{}
	// leases are the created ones, by namespace and name.
	leases chan string
}

// serve starts an API server that delays the watch of a resource, "" for none.
func serve(t *testing.T, hold string) *apiServer {
	t.Helper()
	s := &apiServer{hold: hold, held: make(chan struct{}), leases: make(chan string, 16)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, fields{"kind": "APIVersions", "versions": []string{"v1"}})
	})
	mux.HandleFunc("GET /apis", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, fields{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups()})
	})
	lists := map[string][]fields{}
	for _, r := range resources {
		lists[r.path] = append(lists[r.path], fields{"name": r.name, "kind": r.kind, "namespaced": r.namespaced, "verbs": []string{"get", "list", "watch", "create", "update"}})
		mux.HandleFunc("GET "+r.path+"/"+r.name, func(w http.ResponseWriter, q *http.Request) { s.read(w, q, r) })
	}
	for path, list := range lists {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusOK, fields{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version(path), "resources": list})
		})
	}
	for _, g := range groups() {
		mux.HandleFunc("GET /apis/"+g["name"].(string), func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, g) })
	}
	leases := "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
	mux.HandleFunc("POST "+leases, s.lease)
	mux.HandleFunc("PUT "+leases+"/{name}", s.lease)
	mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) {
		answer(w, http.StatusNotFound, fields{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound, "message": q.URL.Path})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.url = server.URL
	return s
}

// version returns the group and version of a path.
func version(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/")
}

func groups() (all []fields) {
	seen := map[string]bool{}
	for _, r := range resources {
		name, v, named := strings.Cut(version(r.path), "/")
		if !named || seen[name] {
			continue
		}
		seen[name] = true
		preferred := fields{"groupVersion": version(r.path), "version": v}
		all = append(all, fields{"kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": []fields{preferred}, "preferredVersion": preferred})
	}
	return all
}

func answer(w http.ResponseWriter, code int, o any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(o) // a client that does not wait for it has left
}

// read answers a list, and a watch for as long as the client stays.
func (s *apiServer) read(w http.ResponseWriter, q *http.Request, r resource) {
	if r.name == s.hold {
		select {
		case <-s.held:
		case <-q.Context().Done():
			return
		}
	}
	if q.FormValue("watch") == "" {
		answer(w, http.StatusOK, fields{"kind": r.kind + "List", "apiVersion": version(r.path), "metadata": fields{"resourceVersion": "1"}, "items": []any{}})
		return
	}
	if q.FormValue("sendInitialEvents") == "true" {
		answer(w, http.StatusOK, fields{"type": "BOOKMARK", "object": fields{
			"kind": r.kind, "apiVersion": version(r.path),
			"metadata": fields{"resourceVersion": "1", "annotations": fields{"k8s.io/initial-events-end": "true"}},
		}})
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	_ = http.NewResponseController(w).Flush()
	<-q.Context().Done()
}

// lease accepts a created or renewed lease, in any encoding of the client.
func (s *apiServer) lease(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has left
	}
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	lease, ok := o.(*coordinationv1.Lease)
	if err != nil || !ok {
		http.Error(w, fmt.Sprintf("%T: %v", o, err), http.StatusBadRequest)
		return
	}
	code := http.StatusOK
	if r.Method == http.MethodPost {
		code = http.StatusCreated
		s.leases <- r.PathValue("namespace") + "/" + lease.Name
	}
	lease.ResourceVersion = "1"
	lease.APIVersion, lease.Kind = "coordination.k8s.io/v1", "Lease"
	answer(w, code, lease)
}
