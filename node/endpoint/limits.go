package endpoint

import (
	"net"
	"net/http"

	"github.com/spazio-scheduler/spazio/api/transport"
)

// limits are those of every server here: Prometheus, probes and some people ask, of whom a
// page takes 32: 64 are served. One address may have all of them, as a port-forward makes all callers
// loopback; when they are used up, what is silent or of the address with most gives way.
var limits = transport.Limits{Connections: 128, Unauthenticated: 64}

// Limit returns a listener of l's connections that are within the bounds of this package's
// servers, for a server of another make.
func Limit(l net.Listener) (net.Listener, error) {
	guard, err := transport.NewConnLimiter(limits)
	if err != nil {
		return nil, err
	}
	return guard.Limit(l), nil
}

// mostScrapes bounds the scrapes in progress; each takes some 200 KiB in a process of twenty
// megabytes. Further ones wait for their turn.
const mostScrapes = 2

// inTurn lets so many requests be answered at a time. One that has gone is not answered.
func inTurn(most int, h http.Handler) http.Handler {
	turns := make(chan struct{}, most)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
			h.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
}
