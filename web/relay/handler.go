package relay

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/spazio-scheduler/spazio/web"
)

// The paths below the one where a Handler is served.
const (
	statePath = "/state"
	nodePath  = "/node"
	podPath   = "/pod"
)

// Handler answers below the given path, which has no slash at its end, to GET and HEAD:
//
//	GET PATH/state                  a web.State
//	GET PATH/node?name=             a web.Explanation
//	GET PATH/pod?namespace=&name=   a web.Timeline
//
// What the Source does not know is 404, another of its errors 503. Who may ask, and by which
// name, is the server's to say: what is shown here it shows to whoever gets here.
func Handler(path string, source web.Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path+statePath, func(w http.ResponseWriter, r *http.Request) {
		state, err := source.State(r.Context())
		answer(w, state, err)
	})
	mux.HandleFunc("GET "+path+nodePath, func(w http.ResponseWriter, r *http.Request) {
		node, err := source.Node(r.Context(), r.URL.Query().Get("name"))
		answer(w, node, err)
	})
	mux.HandleFunc("GET "+path+podPath, func(w http.ResponseWriter, r *http.Request) {
		pod, err := source.Pod(r.Context(), r.URL.Query().Get("namespace"), r.URL.Query().Get("name"))
		answer(w, pod, err)
	})
	return mux
}

func answer(w http.ResponseWriter, what any, err error) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	switch {
	case errors.Is(err, web.ErrUnknownNode), errors.Is(err, web.ErrUnknownPod):
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	text, err := json.Marshal(what)
	if err != nil {
		slog.Error("an answer cannot be written as JSON", "error", err)
		http.Error(w, "the answer cannot be written as JSON: "+err.Error(), http.StatusInternalServerError)
		return
	}
	header.Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // who asked may be gone
}
