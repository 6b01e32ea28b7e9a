package telemetry

import (
	"path/filepath"
)

// link is a network interface with a device, read from its directory in sysfs.
type link struct {
	name                   string
	rxBytes, txBytes       *file
	operstate, speed       *file
	carrierChanges         *file
	received, sent         uint64 // as read last
	baseReceived, baseSent uint64
	// whole is what it carries each way in bytes/s, 0 while it is down or its
	// speed unknown; changes is the count of carrier changes it is of.
	whole   float64
	changes uint64
	seen    bool
}

func newLink(name, dir string) *link {
	open := func(path ...string) *file {
		return newFile(filepath.Join(dir, filepath.Join(path...)), 64)
	}
	return &link{
		name:           name,
		rxBytes:        open("statistics", "rx_bytes"),
		txBytes:        open("statistics", "tx_bytes"),
		operstate:      open("operstate"),
		speed:          open("speed"),
		carrierChanges: open("carrier_changes"),
		seen:           true,
	}
}

func (l *link) close() {
	for _, f := range []*file{l.rxBytes, l.txBytes, l.operstate, l.speed, l.carrierChanges} {
		f.close()
	}
}

// carries returns what whole should be. A driver that cannot tell whether there
// is a carrier says unknown; one that is down refuses to tell its speed, or says
// that of the last carrier. A known speed is read again only after the carrier
// changed (it has to for a new speed): the kernel gives it under the lock that
// pods' networks are set up with, which may be held for long.
func (l *link) carries(fixed float64) float64 {
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
	l.changes = changes
	text, err := l.speed.read()
	if err != nil {
		return 0
	}
	speed, _, _ := ParseLinkSpeed(text)
	return speed
}

// read reads the counters without taking them as the base.
func (l *link) read() (err error) {
	if l.received, err = readAs(networkName, l.rxBytes, ParseCounter); err != nil {
		return err
	}
	l.sent, err = readAs(networkName, l.txBytes, ParseCounter)
	return err
}

// take takes what was read as the base, and returns the bytes moved since the
// base before in the busier direction; ok is false if a counter ran backwards.
func (l *link) take() (moved uint64, ok bool) {
	received, sent := l.baseReceived, l.baseSent
	l.baseReceived, l.baseSent = l.received, l.sent
	if l.received < received || l.sent < sent {
		return 0, false
	}
	return max(l.received-received, l.sent-sent), true
}
