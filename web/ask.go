package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// problem is what is answered in place of what was asked.
type problem struct {
	Field string `json:"field,omitempty"`
	Value string `json:"value,omitempty"`
	Error string `json:"error"`
}

func (s *Server) node(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name") // FormValue would read a body, too
	s.ask(w, r, "node", name, func(ctx context.Context) (any, error) { return s.config.Source.Node(ctx, name) })
}

func (s *Server) pod(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	namespace, name := query.Get("namespace"), query.Get("name")
	s.ask(w, r, "pod", namespace+"/"+name, func(ctx context.Context) (any, error) { return s.config.Source.Pod(ctx, namespace, name) })
}

// ask answers with what the Source returns, within askTimeout, a few requests at a time.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, field, value string, of func(context.Context) (any, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), s.config.askTimeout)
	defer cancel()
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		reply(w, http.StatusServiceUnavailable, problem{Error: "others ask at the same time"})
		return
	}
	what, err := of(ctx)
	if err != nil {
		p := problem{Field: field, Value: text(value, 2*maxName), Error: text(err.Error(), maxWords)}
		reply(w, codeOf(err), p)
		return
	}
	reply(w, http.StatusOK, what)
}

func codeOf(err error) int {
	switch {
	case errors.Is(err, ErrUnknownNode), errors.Is(err, ErrUnknownPod):
		return http.StatusNotFound
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// reply answers in JSON.
func reply(w http.ResponseWriter, code int, what any) {
	w.Header().Set("Content-Type", "application/json")
	data, err := json.Marshal(what)
	if err != nil {
		code, data = http.StatusInternalServerError, []byte(`{"error":"the answer is no JSON"}`)
	}
	w.WriteHeader(code)
	_, _ = w.Write(data) // it fails if the reader has gone
}
