package modelserver

import (
	"context"
	"time"
)

// Exports for tests outside the package.

type (
	AgeSummary    = ageSummary
	Channel       = channel
	ChannelCost   = channelCost
	Component     = component
	Table         = table
	SnapshotError = snapshotError
	Snapshot      = snapshot
	Stats         = stats
)

var (
	ErrFormat = errFormat
	ErrCount  = errCount
	ErrSize   = errSize
	ErrLate   = errLate
)

// WithQueueBytes returns c with another bound of what waiting pushes take in memory.
func (c Config) WithQueueBytes(n int) Config {
	c.queueBytes = n
	return c
}

// WithResolve returns c with what finds the addresses of a host in place of DNS.
func (c PeersConfig) WithResolve(resolve func(ctx context.Context, host string) ([]string, error)) PeersConfig {
	c.resolve = resolve
	return c
}

var (
	SaveSnapshot  = saveSnapshot
	LoadSnapshot  = loadSnapshot
	WriteSnapshot = writeSnapshot
	ReadSnapshot  = readSnapshot
)

// Snapshot returns the state.
func (s *Server) Snapshot() Snapshot { return s.snapshot() }

// Restore takes in a snapshot, and returns how many nodes are back.
func (s *Server) Restore(snapshot Snapshot) (int, error) { return s.restore(snapshot) }

// Stats returns the counts.
func (s *Server) Stats() Stats { return s.stats() }

// Describe returns what was published last.
func (s *Server) Describe(of string) Status { return s.describe(of) }

// Release ends what Config.Hold began.
func (s *Server) Release() { s.release() }

// Lag returns the time since the last exchange with the peer for which it is longest.
func (p *Peers) Lag() time.Duration { return p.lag() }

// Others counts the other replicas' addresses, this one's own left out.
func (p *Peers) Others() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, peer := range p.peers {
		if !peer.self {
			n++
		}
	}
	return n
}

// Replica returns the id by which other replicas know this one.
func (s *Server) Replica() uint64 { return s.config.replica }

// Round makes one round.
func (p *Peers) Round(ctx context.Context) error { return p.round(ctx) }

// Age is the time since the last snapshot.
func (k *Keeper) Age() time.Duration { return k.age() }
