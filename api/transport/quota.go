package transport

import (
	"context"
	"net"
	"net/netip"
	"sync"
)

// Quota counts what callers hold, in all and by their address. Safe for
// concurrent use; the zero value grants nothing.
type Quota struct {
	most, mostOfOne int

	mu   sync.Mutex
	held int
	of   map[netip.Addr]int
}

// NewQuota grants most in all, mostOfOne to one address.
func NewQuota(most, mostOfOne int) *Quota {
	return &Quota{most: most, mostOfOne: mostOfOne, of: map[netip.Addr]int{}}
}

// Acquire reports whether it grants a unit to an address; Release returns it with
// the same address.
func (q *Quota) Acquire(addr netip.Addr) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held >= q.most || q.of[addr] >= q.mostOfOne {
		return false
	}
	q.held++
	q.of[addr]++
	return true
}

// Release takes back one that was granted to an address.
func (q *Quota) Release(addr netip.Addr) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held--
	if q.of[addr]--; q.of[addr] <= 0 {
		delete(q.of, addr)
	}
}

// Held is how many are granted.
func (q *Quota) Held() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held
}

// CallerAddr is the address of the caller of a method, or of a request to a server with ConnContext:
// that of the connection, without the port, and of IPv6 the first 64 bits, as the others are
// the caller's choice. What is no IP address shares the zero one.
func CallerAddr(ctx context.Context) netip.Addr { return callerOf(addrIn(ctx)) }

func callerOf(a net.Addr) netip.Addr {
	if c, ok := a.(*caller); ok {
		return c.ip
	}
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	ip := t.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is6() {
		ip = netip.PrefixFrom(ip, 64).Masked().Addr()
	}
	return ip
}
