package telemetry

import (
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"time"
)

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
