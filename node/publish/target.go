package publish

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Resolver looks names up; *net.Resolver is one. It is asked by several
// goroutines at once.
type Resolver interface {
	// LookupNetIP returns the addresses of a host; network is "ip".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// service is a name behind which every address is a scheduler replica.
type service struct {
	host string
	port uint16
}

// parseTarget distinguishes names to look up, dns:///host:port, from targets to dial as
// they are. A name of that form that can't be used is a *field.Error.
func parseTarget(target string) (s service, isName bool, err error) {
	rest, isName := strings.CutPrefix(target, "dns:")
	if !isName {
		return service{}, false, nil
	}
	if server, found := strings.CutPrefix(rest, "//"); found {
		if rest, found = strings.CutPrefix(server, "/"); !found {
			return service{}, true, refuse("Targets", target, "a DNS server cannot be named: want dns:///host:port")
		}
	}
	host, port, err := net.SplitHostPort(rest)
	if err != nil || host == "" {
		return service{}, true, refuse("Targets", target, "want dns:///host:port")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return service{}, true, refuse("Targets", target, "the port is not in 1 to 65535")
	}
	return service{host: host, port: uint16(n)}, true, nil
}

// authority is the name that the replicas' certificates must be for.
func (s service) authority() string {
	return net.JoinHostPort(strings.TrimSuffix(s.host, "."), strconv.Itoa(int(s.port)))
}

// endpoints returns one host:port per replica. Of a name with addresses of both
// families those of the resolver's first choice count, or each replica of a
// dual-stack cluster would get everything twice.
func (s service) endpoints(ctx context.Context, r Resolver) ([]string, error) {
	addrs, err := r.LookupNetIP(ctx, "ip", s.host)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: s.host, IsNotFound: true}
	}
	four := addrs[0].Unmap().Is4()
	var endpoints []string
	for _, a := range addrs {
		if a = a.Unmap(); a.Is4() == four {
			endpoints = append(endpoints, netip.AddrPortFrom(a, s.port).String())
		}
	}
	return endpoints, nil
}
