package publish

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// lookupGap is the least time between two lookups of a name, however many of its
// replicas fail.
const lookupGap = time.Second

// lookupTimeout bounds one lookup.
const lookupTimeout = 5 * time.Second

// finder keeps a stream to each replica behind a name.
type finder struct {
	signals *Signals
	service service
	logger  *slog.Logger
	// failed holds a token when a stream has failed: the replica may be gone.
	failed chan struct{}

	streams map[string]context.CancelFunc // by endpoint
	// silent: the last lookup failed; full: a replica was left out. Both are in
	// the log once.
	silent, full bool
}

// run looks the name up now, every refresh, and when a stream fails. It returns
// when ctx ends; the streams, which are among running, end with it.
func (f *finder) run(ctx context.Context, running *sync.WaitGroup) {
	f.streams = map[string]context.CancelFunc{}
	refresh := f.signals.refresh
	for {
		f.resolve(ctx, running)
		if !sleep(ctx, min(lookupGap, refresh)) {
			return
		}
		// Jitter keeps the agents of a fleet from asking in step.
		timer := time.NewTimer(time.Duration((.9+.2*rand.Float64())*float64(refresh)) - min(lookupGap, refresh))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-f.failed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// resolve brings the streams in line with what the name stands for. Where it can't
// be looked up or stands for nothing, they stay as they are: a name server's
// outage must not silence a node.
func (f *finder) resolve(ctx context.Context, running *sync.WaitGroup) {
	lookup, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	endpoints, err := f.service.endpoints(lookup, f.signals.resolver)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		if !f.silent {
			f.logger.Warn("schedulers cannot be looked up; streams to known ones stay", "error", err, "streams", len(f.streams))
		}
		f.silent = true
		return
	}
	if f.silent {
		f.logger.Info("schedulers can be looked up again", "replicas", len(endpoints))
	}
	f.silent = false
	f.follow(ctx, endpoints, running)
}

// follow opens streams to the endpoints that have none and ends the rest.
func (f *finder) follow(ctx context.Context, endpoints []string, running *sync.WaitGroup) {
	wanted := map[string]bool{}
	for _, endpoint := range endpoints {
		wanted[endpoint] = true
	}
	for endpoint, stop := range f.streams {
		if !wanted[endpoint] {
			f.logger.Info("scheduler is no longer listed; its stream ends", "scheduler", endpoint)
			stop()
			delete(f.streams, endpoint)
		}
	}
	for _, endpoint := range endpoints {
		if f.streams[endpoint] == nil {
			f.open(ctx, endpoint, running)
		}
	}
}

func (f *finder) open(ctx context.Context, endpoint string, running *sync.WaitGroup) {
	one, err := f.signals.add(endpoint, "passthrough:///"+endpoint, grpc.WithAuthority(f.service.authority()))
	if err != nil {
		// A stream that is ending, or another target's, is asked for again.
		if !f.full && !errors.Is(err, errStreaming) {
			f.logger.Warn("scheduler gets no reports", "scheduler", endpoint, "error", err)
			f.full = true
		}
		return
	}
	f.full = false
	one.failed = f.failed
	ctx, f.streams[endpoint] = context.WithCancel(ctx)
	f.logger.Info("scheduler found", "scheduler", endpoint)
	running.Go(func() {
		defer f.signals.remove(one)
		one.run(ctx)
	})
}

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
