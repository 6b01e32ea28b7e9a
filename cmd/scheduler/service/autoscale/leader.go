package autoscale

import "net/http"

// leaderTransport sends no writes while another scheduler leads, which a pass can outlive.
type leaderTransport struct {
	next      http.RoundTripper
	isLeading func() bool
}

// RoundTrip sends a request.
func (l leaderTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && !l.isLeading() {
		return nil, errNotLeading
	}
	return l.next.RoundTrip(r)
}
