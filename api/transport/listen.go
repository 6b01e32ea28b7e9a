package transport

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// PlaintextError refuses plaintext beyond loopback.
type PlaintextError struct {
	// Action is "listen on" or "send to"; Addr is the address as it was given.
	Action, Addr string
}

// Error is one line that names the ways out.
func (e *PlaintextError) Error() string {
	return fmt.Sprintf("transport: refusing to %s %q in plaintext: use a loopback address, give TLS files, or allow it with insecure", e.Action, e.Addr)
}

// UnauthenticatedError refuses a server beyond loopback that could not authenticate its
// callers: TLS alone admits any client.
type UnauthenticatedError struct {
	// Addr is the address as it was given.
	Addr string
}

// Error is one line that names the ways out.
func (e *UnauthenticatedError) Error() string {
	return fmt.Sprintf("transport: refusing to listen on %q for unauthenticated callers: use a loopback address, name the clients' authority or their account, or allow it with insecure", e.Addr)
}

// Listen opens a TCP listener at addr (host:port; port 0 picks a free one). An
// address beyond loopback, such as ":9690", needs Insecure, or a certificate in c
// and a way to know the callers, ClientCAFile or Tokens: else the error is a
// *PlaintextError or a *UnauthenticatedError and nothing was opened. The listener
// itself is plain TCP: TLS is done by what ServerOptions or ServerTLS return for
// the same c.
func Listen(ctx context.Context, addr string, c Config) (net.Listener, error) {
	if err := c.validateServer(); err != nil {
		return nil, err
	}
	// A name is resolved once and the listener opened at that very address, so
	// that what was judged is what is opened.
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("transport: listen on %q: %w", addr, err)
	}
	switch {
	case resolved.IP.IsLoopback() || c.Insecure:
	case c.CertFile == "":
		return nil, &PlaintextError{Action: "listen on", Addr: addr}
	case c.ClientCAFile == "" && !c.Tokens:
		return nil, &UnauthenticatedError{Addr: addr}
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", resolved.String())
	if err != nil {
		return nil, fmt.Errorf("transport: %w", err)
	}
	return listener, nil
}

// onLoopback reports whether a gRPC target can't leave this machine: a unix
// socket, a loopback address, or localhost. Other names are not resolved: they
// may mean another address at the next connection.
func onLoopback(target string) bool {
	endpoint := target
	if scheme, rest, ok := strings.Cut(target, ":"); ok {
		switch scheme {
		case "unix", "unix-abstract":
			return true
		case "dns", "passthrough", "ipv4", "ipv6":
			endpoint = rest
			if u, err := url.Parse(target); err == nil && u.Opaque == "" {
				endpoint = strings.TrimPrefix(u.Path, "/")
			}
		}
	}
	for _, one := range strings.Split(endpoint, ",") {
		if !loopbackHost(one) {
			return false
		}
	}
	return true
}

func loopbackHost(endpoint string) bool {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		host = strings.Trim(endpoint, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
