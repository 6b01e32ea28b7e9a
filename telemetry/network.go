package telemetry

import (
	"errors"
	"fmt"
	"math"
	"os"
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

// speedPatience is how long a sample waits for the speed of a link, which takes
// the kernel microseconds unless it is held up. alwaysWait is for the start.
var speedPatience = 5 * time.Millisecond

const alwaysWait = time.Duration(math.MaxInt64)

// link is a network interface with a device, read from its directory in sysfs.
type link struct {
	name             string
	rxBytes, txBytes *file
	operstate        *file
	carrierChanges   *file
	speed            speedFile
	span             span
	received, sent   uint64 // as read last
	// fast: the last interval showed more than the link carries.
	fast bool
	// whole is what it carries each way in bytes/s, 0 while it is down or its
	// speed unknown; changes is the count of carrier changes it is of.
	whole   float64
	changes uint64
	seen    bool
}

// newLink returns the link at dir, whose readings may be longest apart; what it reads aside
// is counted in aside.
func newLink(name, dir string, longest time.Duration, aside *sync.WaitGroup) *link {
	open := func(path ...string) *file {
		return newFile(filepath.Join(dir, filepath.Join(path...)), 64)
	}
	return &link{
		name:           name,
		rxBytes:        open("statistics", "rx_bytes"),
		txBytes:        open("statistics", "tx_bytes"),
		operstate:      open("operstate"),
		carrierChanges: open("carrier_changes"),
		speed:          speedFile{path: filepath.Join(dir, "speed"), aside: aside},
		span:           span{longest: longest},
		seen:           true,
	}
}

func (l *link) close() {
	for _, f := range []*file{l.rxBytes, l.txBytes, l.operstate, l.carrierChanges} {
		f.close()
	}
}

// refresh brings whole up to date and reports whether it changed. A driver that
// does not know whether there is a carrier shows unknown; one that is down refuses to
// give its speed, or gives that of the last carrier. A known speed is read again
// only after the carrier changed, as it has to for a new speed; until it is read
// the one before holds.
func (l *link) refresh(fixed float64, patience time.Duration) (changed bool) {
	before := l.whole
	l.whole = l.speedNow(fixed, patience)
	return l.whole != before
}

func (l *link) speedNow(fixed float64, patience time.Duration) float64 {
	state, err := l.operstate.read()
	if err != nil || string(state) != "up\n" && string(state) != "unknown\n" {
		return 0
	}
	if fixed > 0 {
		return fixed
	}
	changes, err := readAs(networkName, l.carrierChanges, ParseCounter)
	if err == nil && l.whole > 0 && changes == l.changes {
		return l.whole
	}
	speed, of, ok := l.speed.read(changes, patience)
	if !ok {
		return l.whole
	}
	l.changes = of
	return speed
}

// read returns the bytes received and sent since the link was made.
func (l *link) read() (received, sent uint64, err error) {
	if received, err = readAs(networkName, l.rxBytes, ParseCounter); err != nil {
		return 0, 0, err
	}
	sent, err = readAs(networkName, l.txBytes, ParseCounter)
	return received, sent, err
}

// load returns the load of the busier direction since the last reading, in [0,1]. A reading
// that fails leaves the base as it is, so that the next is the mean over both intervals.
//
// More bytes than the link can carry in the time that passed are refused, as the leap of a
// counter. A counter does not leap twice running: a link that goes on so is faster than its
// stated speed, as virtual ones are within a host, and is full.
func (l *link) load(at time.Time) (float64, error) {
	received, sent, err := l.read()
	if err != nil {
		return 0, err
	}
	lastReceived, lastSent, fast := l.received, l.sent, l.fast
	l.received, l.sent, l.fast = received, sent, false
	since, err := l.span.next(at)
	switch {
	case err != nil:
		return 0, &ChannelError{Channel: networkName, Err: err}
	case received < lastReceived:
		return 0, &ChannelError{networkName, l.rxBytes.path, ErrBackwards}
	case sent < lastSent:
		return 0, &ChannelError{networkName, l.txBytes.path, ErrBackwards}
	}
	path, moved := l.rxBytes.path, received-lastReceived
	if out := sent - lastSent; out > moved {
		path, moved = l.txBytes.path, out
	}
	seconds := float64(moved) / l.whole
	if most := mostIn(since.Seconds()); seconds > most {
		l.fast = true
		if !fast {
			return 0, &ChannelError{networkName, path, fmt.Errorf("%w: %d bytes, at %g bytes/s in at most %.3f s", ErrLeap, moved, l.whole, most)}
		}
	}
	return clamp(seconds / since.Seconds()), nil
}

// speedFile reads the speed of a link aside: the kernel gives it under the lock
// that pods' networks are set up with and keeps the reader until that is free,
// which may take seconds. One read is under way at most.
type speedFile struct {
	path  string
	aside *sync.WaitGroup
	// answer is of the read under way, nil while there is none.
	answer chan linkSpeed
}

// linkSpeed is what a read returned, in bytes/s, 0 if the driver does not show it. It
// was asked at a count of carrier changes.
type linkSpeed struct {
	whole   float64
	changes uint64
}

// read returns the speed and the count of carrier changes that it is of, unless
// that takes longer than patience: then a later call does.
func (f *speedFile) read(changes uint64, patience time.Duration) (whole float64, of uint64, ok bool) {
	if f.answer == nil {
		answer, path := make(chan linkSpeed, 1), f.path
		f.answer = answer
		f.aside.Add(1)
		go func() {
			defer f.aside.Done()
			answer <- linkSpeed{readSpeed(path), changes}
		}()
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case speed := <-f.answer:
		f.answer = nil
		return speed.whole, speed.changes, true
	case <-timer.C:
		return 0, 0, false
	}
}

func readSpeed(path string) float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	speed, _, _ := parseLinkSpeed(text)
	return speed
}
