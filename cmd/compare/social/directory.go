package social

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// errNoReplica is returned where no replica of a tier is known.
var errNoReplica = errors.New("social: no replica is known")

// directory knows where the replicas of each tier are. The zero value knows of none. It
// is safe for concurrent use.
type directory struct {
	pattern string // of the address of each tier; empty where Set is used

	mu       sync.Mutex
	replicas map[string][]string
	next     map[string]int
}

// newServices returns a directory of services, whose addresses are the pattern with each
// tier's name in the place of its star, as in *.social.svc:8080.
func newServices(pattern string) (*directory, error) {
	if strings.Count(pattern, "*") != 1 {
		return nil, fmt.Errorf("social: services %q: not of one star", pattern)
	}
	return &directory{pattern: pattern}, nil
}

// services reports whether the addresses are those of services.
func (d *directory) services() bool { return d.pattern != "" }

// set replaces what is known.
func (d *directory) set(replicas map[string][]string) {
	known := make(map[string][]string, len(replicas))
	for tier, addresses := range replicas {
		known[tier] = slices.Clone(addresses)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replicas = known
}

// nextOf is the address of a tier's next replica in turn.
func (d *directory) nextOf(tier string) (string, error) {
	if d.services() {
		return strings.Replace(d.pattern, "*", tier, 1), nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.replicas[tier]
	if len(known) == 0 {
		return "", fmt.Errorf("%w: %s", errNoReplica, tier)
	}
	if d.next == nil {
		d.next = map[string]int{}
	}
	d.next[tier]++
	return known[d.next[tier]%len(known)], nil
}
