package telemetry

import (
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
	name                   string
	rxBytes, txBytes       *file
	operstate              *file
	carrierChanges         *file
	speed                  speedFile
	received, sent         uint64 // as read last
	baseReceived, baseSent uint64
	// whole is what it carries each way in bytes/s, 0 while it is down or its
	// speed unknown; changes is the count of carrier changes it is of.
	whole   float64
	changes uint64
	seen    bool
}

// newLink returns the link at dir; what it reads aside is counted in aside.
func newLink(name, dir string, aside *sync.WaitGroup) *link {
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
		seen:           true,
	}
}

func (l *link) close() {
	for _, f := range []*file{l.rxBytes, l.txBytes, l.operstate, l.carrierChanges} {
		f.close()
	}
}

// refresh brings whole up to date and says whether it changed. A driver that
// cannot tell whether there is a carrier says unknown; one that is down refuses to
// tell its speed, or says that of the last carrier. A known speed is read again
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

// read reads the counters without making them the base.
func (l *link) read() (err error) {
	if l.received, err = readAs(networkName, l.rxBytes, ParseCounter); err != nil {
		return err
	}
	l.sent, err = readAs(networkName, l.txBytes, ParseCounter)
	return err
}

// advance makes what was read the base, and returns the bytes moved since the base
// before in the busier direction; ok is false if a counter ran backwards.
func (l *link) advance() (moved uint64, ok bool) {
	received, sent := l.baseReceived, l.baseSent
	l.baseReceived, l.baseSent = l.received, l.sent
	if l.received < received || l.sent < sent {
		return 0, false
	}
	return max(l.received-received, l.sent-sent), true
}
