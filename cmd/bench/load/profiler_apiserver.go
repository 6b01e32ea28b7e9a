package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// apiServer is as much of one as a profiler talks to: it shows the pods, takes
// whatever is written, and keeps versions only.
type apiServer struct {
	*profiler
	server                 *http.Server
	version, writes, saves atomic.Uint64 // saves are the writes of checkpoints

	mu       sync.Mutex
	watchers map[chan []byte]bool
}

const group = "profile.spazio-scheduler.github.io"

// startAPIServer also writes a kubeconfig that leads to the server.
func startAPIServer(p *profiler, kubeconfig string) (*apiServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &apiServer{profiler: p, watchers: map[chan []byte]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/pods", s.listPods)
	mux.HandleFunc("GET /apis/"+group+"/v1alpha1/workloadprofiles", s.listProfiles)
	mux.HandleFunc("GET /apis/"+group+"/v1alpha1/namespaces/{namespace}/workloadprofilecheckpoints", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, fmt.Appendf(nil, `{"kind":"WorkloadProfileCheckpointList","apiVersion":%q,"metadata":{"resourceVersion":"1"},"items":[]}`, group+"/v1alpha1"))
	})
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusCreated, []byte(`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`))
	})
	mux.HandleFunc("GET /apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, fmt.Appendf(nil, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":%q,"namespace":%q,"resourceVersion":"1"},"spec":{}}`, r.PathValue("name"), r.PathValue("namespace")))
	})
	mux.HandleFunc("/", s.write)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(l) }() // until stop
	return s, os.WriteFile(kubeconfig, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"clusters":[{"name":"c","cluster":{"server":"http://%v"}}],"users":[{"name":"u","user":{}}]}`, l.Addr()), 0o600)
}

func (s *apiServer) stop() { _ = s.server.Close() }

func answer(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// namespaces that the workloads are in: a profiler takes 2,000 workloads of each.
const namespaces = 10

func (s *apiServer) pod(n int) []byte {
	workload := n % s.workloads
	name := fmt.Sprintf("workload-%05d-5d4f8c7b9", workload)
	return fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"%s-%05d","namespace":"namespace-%d","uid":%q,"resourceVersion":"1","creationTimestamp":"2026-11-22T00:00:00Z","labels":{"app":"workload","pod-template-hash":"5d4f8c7b9"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":%q,"uid":"1","controller":true}]},"spec":{"nodeName":%q,"restartPolicy":"Always","containers":[{"name":"main","image":"registry.example/workload-%05d:v1","command":["/workload"],"resources":{"requests":{"cpu":"100m","memory":"128Mi"}}}]},"status":{"phase":"Running","containerStatuses":[{"name":"main","containerID":"containerd://%064x","image":"","imageID":"","ready":true,"restartCount":0}]}}`,
		name, n, workload%namespaces, podUID(n), name, nodeName(n%s.nodes), workload, n+1)
}

// stream begins the answer to a watch with what there is; lists are streamed here.
func stream(w http.ResponseWriter, r *http.Request, kind, version string, count int, object func(n int) []byte) (flush func(), ok bool) {
	if r.FormValue("watch") == "" {
		http.Error(w, "lists are streamed here", http.StatusBadRequest)
		return nil, false
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	for n := range count {
		fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", object(n))
	}
	fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", kind, version)
	flush = func() { _ = http.NewResponseController(w).Flush() }
	flush()
	return flush, true
}

func (s *apiServer) listPods(w http.ResponseWriter, r *http.Request) {
	if _, ok := stream(w, r, "Pod", "v1", s.pods, s.pod); ok {
		<-r.Context().Done()
	}
}

func (s *apiServer) listProfiles(w http.ResponseWriter, r *http.Request) {
	flush, ok := stream(w, r, "WorkloadProfile", group+"/v1alpha1", 0, nil)
	if !ok {
		return
	}
	events := make(chan []byte, 1024)
	s.mu.Lock()
	s.watchers[events] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, events)
		s.mu.Unlock()
	}()
	for {
		select {
		case <-r.Context().Done():
			return
		case object := <-events:
			fmt.Fprintf(w, `{"type":"MODIFIED","object":%s}`+"\n", object)
			flush()
		}
	}
}

// write takes whatever is written, and sends it to those that watch.
func (s *apiServer) write(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet || r.Method == http.MethodDelete {
		answer(w, http.StatusNotFound, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
		return
	}
	body, err := io.ReadAll(r.Body)
	object := map[string]any{}
	if err != nil || json.Unmarshal(body, &object) != nil {
		http.Error(w, "JSON is spoken here", http.StatusUnsupportedMediaType)
		return
	}
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	metadata["resourceVersion"] = fmt.Sprint(s.version.Add(1) + 1)
	ours := strings.HasPrefix(r.URL.Path, "/apis/"+group)
	if ours {
		s.writes.Add(1)
		if strings.Contains(r.URL.Path, "/workloadprofilecheckpoints") {
			s.saves.Add(1)
		}
		object["apiVersion"] = group + "/v1alpha1"
	}
	code := http.StatusOK
	if r.Method == http.MethodPost {
		code = http.StatusCreated
	}
	text, err := json.Marshal(object)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, code, text)
	if !ours || !strings.Contains(r.URL.Path, "/workloadprofiles") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for events := range s.watchers {
		select {
		case events <- text:
		default: // a watcher that is behind gets the next
		}
	}
}
