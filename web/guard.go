package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard refuses what no reader of the page asks, and sets the headers that every answer has.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		SetHeaders(w.Header(), false)
		switch {
		case !s.serves(r.Host):
			http.Error(w, "this server is not asked for by that name", http.StatusMisdirectedRequest)
		case foreign(r):
			http.Error(w, "another site asks", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// serves reports whether the server has the host name. It protects against DNS rebinding, where a
// foreign site's name resolves to this server.
func (s *Server) serves(host string) bool {
	name := nameOf(host)
	if s.config.AnyHost || s.hosts[name] || name == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback()
}

// nameOf is a host without its port, in small letters.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if inside, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inside, "]")
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// foreign reports whether a browser sends the request for a page of another site, which couldn't
// read the answer, but would take a reader's place. Opening this page by a link is allowed.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}
