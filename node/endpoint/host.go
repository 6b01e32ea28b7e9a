package endpoint

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// onLoopback refuses requests to another name than loopback's. A browser sends such for a page
// from elsewhere whose name its owner has lead here, and would let it read the answer.
func onLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			http.Error(w, "this server is asked for as localhost or by its address of loopback alone", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback reports whether a Host header, which programs may leave out, is of loopback.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	address, err := netip.ParseAddr(host)
	return host == "" || host == "localhost" || err == nil && address.Unmap().IsLoopback()
}
