package telemetry

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

const (
	networkName = "network"
	// rescanLinks is how often interfaces and speeds are read again.
	rescanLinks = time.Second
)

// network is the network channel: the load of the busiest real link, one with a
// device, that is up and has a known speed. A virtual interface would count
// traffic twice and has no speed of its own. A link that cannot be measured is left out of an
// interval; without any other the sample fails.
//
// The bytes come from sysfs, not from /proc/net/dev, for which the kernel sums up
// the counters of every interface (0.3 ms with 200 veths, where the two files of
// a link take 4 µs). /proc/net/dev only lists the names, once a second.
type network struct {
	list    *file
	class   string
	fixed   float64 // speed in place of each link's own, unless 0
	longest time.Duration
	failed  bool // a link could not be measured in the last sample

	links []*link
	whole float64 // the last known speed of the fastest link
	// changed: the links or their speeds are not those of the last sample.
	changed bool

	virtual   map[string]*virtualLink
	names     [][]byte // scratch
	scannedAt time.Time
	// aside are the reads that sampling does not wait for.
	aside sync.WaitGroup
}

// virtualLink is an interface without a device. It records whether that is in the
// list, behind a pointer, so that noting it does not allocate the name anew.
type virtualLink struct{ seen bool }

// newNetwork finds the links; without one the error is ErrNoLinkSpeed.
func newNetwork(c Config) (*network, error) {
	n := &network{
		list:    newFile(listOfInterfaces(c.ProcRoot), 8<<10),
		class:   filepath.Join(c.SysRoot, "class", "net"),
		fixed:   c.LinkSpeed,
		longest: c.MaxInterval,
		virtual: map[string]*virtualLink{},
	}
	err := n.scan(time.Time{}, alwaysWait)
	if err == nil {
		err = n.readable()
	}
	if err != nil {
		n.close()
		return nil, err
	}
	n.changed = false
	return n, nil
}

// readable returns nil if the counters of a link of known speed can be read.
func (n *network) readable() error {
	err := n.noSpeed()
	for _, l := range n.links {
		if l.whole == 0 {
			continue
		}
		if _, _, err = l.read(); err == nil {
			return nil
		}
	}
	return err
}

// listOfInterfaces is net/dev of process 1: net is that of the reader's own
// process, in a container the container's network, though proc be the host's.
func listOfInterfaces(proc string) string {
	if first := filepath.Join(proc, "1", "net", "dev"); exists(first) {
		return first
	}
	return filepath.Join(proc, "net", "dev")
}

func (n *network) name() string   { return networkName }
func (n *network) option() string { return "link" }
func (n *network) size() float64  { return n.whole }

func (n *network) close() {
	n.list.close()
	for _, l := range n.links {
		l.close()
	}
	n.aside.Wait()
}

func (n *network) sample(at time.Time) (float64, error) {
	if since := at.Sub(n.scannedAt); since >= rescanLinks || since < 0 {
		if err := n.scan(at, speedPatience); err != nil {
			return 0, err
		}
	}
	busiest, err := n.advance(at)
	if errors.Is(err, ErrNoLinkSpeed) {
		return 0, err
	}
	failed := n.failed
	n.failed = err != nil && !errors.Is(err, ErrPriming)
	if busiest < 0 || err != nil && !failed { // a link may just have gone; one that stays so is no news
		if bad := n.scan(at, speedPatience); bad != nil && busiest < 0 {
			return 0, err
		}
	}
	changed := n.changed
	n.changed = false
	switch {
	case changed:
		return 0, &ChannelError{networkName, n.class, ErrResized}
	case busiest < 0:
		return 0, err
	}
	return busiest, nil
}

// advance reads every link and returns the load of the busiest. A link that cannot be
// measured costs the others nothing: err is the first such link's, and busiest is less than
// 0 only where no link could be measured.
func (n *network) advance(at time.Time) (busiest float64, err error) {
	busiest = -1
	up := false
	for _, l := range n.links {
		if l.whole == 0 {
			continue
		}
		up = true
		load, failed := l.load(at)
		switch {
		case failed == nil:
			busiest = max(busiest, load)
		case err == nil:
			err = failed
		}
	}
	if !up {
		return busiest, n.noSpeed()
	}
	return busiest, err
}

// noSpeed names the links there are.
func (n *network) noSpeed() error {
	names := []string{}
	for _, l := range n.links {
		names = append(names, l.name)
	}
	return &ChannelError{networkName, n.class, fmt.Errorf("%w: interfaces with a device: %q", ErrNoLinkSpeed, names)}
}

// scan reads which interfaces there are, and the links' speeds unless they take
// longer than patience.
func (n *network) scan(at time.Time, patience time.Duration) error {
	text, err := n.list.read()
	if err == nil {
		n.names, err = parseInterfaces(n.names, text)
	}
	if err != nil {
		return &ChannelError{networkName, n.list.path, err}
	}
	for _, name := range n.names {
		n.observe(name)
	}
	links, fastest := n.links[:0], 0.
	for _, l := range n.links {
		if !l.seen {
			l.close()
			n.changed = true
			continue
		}
		l.seen = false
		if l.refresh(n.fixed, patience) {
			n.changed = true
		}
		fastest = max(fastest, l.whole)
		links = append(links, l)
	}
	clear(n.links[len(links):])
	for name, v := range n.virtual {
		if !v.seen {
			delete(n.virtual, name)
		}
		v.seen = false
	}
	n.links, n.scannedAt = links, at
	if fastest > 0 {
		n.whole = fastest
	}
	return nil
}

// observe notes one interface of the list.
func (n *network) observe(name []byte) {
	for _, l := range n.links {
		if l.name == string(name) {
			l.seen = true
			return
		}
	}
	if v := n.virtual[string(name)]; v != nil {
		v.seen = true
		return
	}
	dir := filepath.Join(n.class, string(name))
	if !exists(filepath.Join(dir, "device")) {
		n.virtual[string(name)] = &virtualLink{seen: true}
		return
	}
	n.links = append(n.links, newLink(string(name), dir, n.longest, &n.aside))
	n.changed = true
}
