package agentd

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spazio-scheduler/spazio/node"
)

// whyHandler shows the Why of the last report as JSON, or in words with
// ?format=text.
func whyHandler(d *node.Daemon) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := r.FormValue("format")
		if format != "" && format != "json" && format != "text" {
			http.Error(w, fmt.Sprintf("format: %q is neither json nor text", format), http.StatusBadRequest)
			return
		}
		why, err := d.Why(r.Context())
		switch {
		case errors.Is(err, node.ErrNoReport):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		case format == "text":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprintln(w, why)
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
