package server

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/web"
)

// Names of the session's cookie. The first, of TLS, is one that no other host, path or
// plain connection can set.
const (
	secureCookie = "__Host-spazio-session"
	plainCookie  = "spazio-session"
)

// maxToken is the longest token in bytes: browsers drop cookies beyond 4,096.
const maxToken = 3800

// maxLogin is the longest body in bytes of an unauthenticated request.
const maxLogin = 8 << 10

func cookieName(r *http.Request) string {
	if r.TLS != nil {
		return secureCookie
	}
	return plainCookie
}

// sessionCookie is the cookie of a token that ends at the time, if that is not zero; with
// an empty token it takes the browser's away.
func sessionCookie(r *http.Request, token string, expires time.Time) *http.Cookie {
	c := &http.Cookie{
		Name: cookieName(r), Value: token, Path: "/", Expires: expires,
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	}
	if token == "" {
		c.MaxAge = -1
	}
	return c
}

// bearerProtocol, before a token in base64url, is how a browser's script shows one when it
// opens a WebSocket: as if it were a protocol.
const bearerProtocol = "base64url.bearer.authorization.k8s.io."

// tokenOf returns the token that a request shows: of the header, else of the protocols that
// a WebSocket is to speak, else of the session.
func tokenOf(r *http.Request) string {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return ""
		}
		return strings.TrimSpace(token)
	}
	for _, protocol := range protocols(r) {
		if encoded, ok := strings.CutPrefix(protocol, bearerProtocol); ok {
			token, _ := base64.RawURLEncoding.DecodeString(encoded) // invalid base64 is no valid token either
			return string(token)
		}
	}
	if cookie, err := r.Cookie(cookieName(r)); err == nil {
		return cookie.Value
	}
	return ""
}

// protocols returns the subprotocols that a WebSocket request offers.
func protocols(r *http.Request) []string { return entries(r.Header["Sec-Websocket-Protocol"]) }

// entries returns the entries of a header that has a list.
func entries(lines []string) []string {
	return strings.FieldsFunc(strings.Join(lines, ","), func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
}

// authenticate returns whose token it is.
func (s *Server) authenticate(ctx context.Context, token string) (Caller, error) {
	switch {
	case token == "":
		return Caller{}, Refuse(http.StatusUnauthorized, "A bearer token is needed.")
	case !plausible(token):
		return Caller{}, Refuse(http.StatusUnauthorized, "The token is not valid.")
	}
	return s.config.Authenticator.Authenticate(ctx, token)
}

// tokenForm is the syntax of a token (RFC 6750).
var tokenForm = regexp.MustCompile(`^[-._~+/0-9A-Za-z]*=*$`)

// plausible reports whether a token may be one.
func plausible(token string) bool { return len(token) <= maxToken && tokenForm.MatchString(token) }

// checkSource refuses requests to a name that is not the server's, by which a page from
// elsewhere could be taken for ours, and those of pages from elsewhere.
func (s *Server) checkSource(r *http.Request) *wire.Problem {
	if !s.knowsHost(r.Host) {
		return Refuse(http.StatusMisdirectedRequest, "The server has another name.")
	}
	if err := s.crossing.Check(r); err != nil || !sameOrigin(r) {
		return Refuse(http.StatusForbidden, "Pages from elsewhere may not use the interface.")
	}
	return nil
}

func (s *Server) knowsHost(hostport string) bool {
	if len(s.config.Hosts) == 0 {
		return true
	}
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || slices.Contains(s.config.Hosts, host)
}

// sameOrigin also checks requests that read, which CrossOriginProtection lets pass: a watch reads,
// and pages of other origins must not watch.
func sameOrigin(r *http.Request) bool {
	u, err := url.Parse(r.Header.Get("Origin"))
	return r.Header.Get("Origin") == "" || err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// secure sets the headers of all answers; those of pages are theirs.
func secure(h http.Header) {
	web.SetHeaders(h, false)
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
}

// pages sets the headers of pages, which may only load what is the server's own.
func pages(ui http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'")
		ui.ServeHTTP(w, r)
	})
}

func (s *Server) login(c *call) error {
	var login wire.Login
	if err := s.decode(c, wire.Decode, &login); err != nil {
		return err
	}
	if len(login.Token) > maxToken {
		return Refuse(http.StatusUnprocessableEntity, "The token is too long for a session.",
			wire.Cause{Field: "token", Reason: wire.TooMany, Message: fmt.Sprintf("must have at most %d bytes", maxToken)})
	}
	caller, err := s.authenticate(c.r.Context(), login.Token)
	if err != nil {
		return err
	}
	http.SetCookie(c.w, sessionCookie(c.r, login.Token, caller.Expires))
	return c.answer(http.StatusOK, session(caller))
}

func (s *Server) who(c *call) error { return c.answer(http.StatusOK, session(c.caller)) }

func (s *Server) logout(c *call) error {
	http.SetCookie(c.w, sessionCookie(c.r, "", time.Time{}))
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func session(caller Caller) wire.Session {
	is := wire.Session{User: caller.Name}
	if !caller.Expires.IsZero() {
		expires := caller.Expires.UTC()
		is.Expires = &expires
	}
	return is
}
