package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Handler serves the reasons of the newest report ([Agent.Why]) as JSON, or in
// words ([Explain]) with ?format=text. Before the first report the status is 404,
// after the agent's end 503. It does not authenticate: every client that can connect
// reads the node's load and its pods' number.
func (a *Agent) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := r.FormValue("format")
		if format != "" && format != "json" && format != "text" {
			http.Error(w, fmt.Sprintf("format: %q is neither json nor text", format), http.StatusBadRequest)
			return
		}
		why, err := a.Why(r.Context())
		switch {
		case errors.Is(err, ErrNoReport):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		case format == "text":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprintln(w, Explain(why))
		default:
			text, err := json.MarshalIndent(why, "", "  ")
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, "%s\n", text)
		}
	})
}
