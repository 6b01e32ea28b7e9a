package modelserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/field"
)

// PeersConfig has the addresses of the other replicas. The zero value of a field is
// its default; without targets there are no others.
type PeersConfig struct {
	// Targets are host:port of one replica each, or dns:///name:port of all
	// that the name has addresses of. A replica may be among its own targets.
	Targets []string
	// Transport is this replica's identity and trust.
	Transport transport.Config
	// Interval is the time between two rounds, default 1 s: what a node's push
	// takes to be known everywhere.
	Interval time.Duration
	// Timeout bounds one exchange, default 2 s. One that is cut off goes on
	// where it was in the next round.
	Timeout time.Duration
	// OnError, if set, is called with the first failure in a row with a peer. It is
	// called from several goroutines.
	OnError func(peer string, err error)

	// resolve returns the addresses of a host, by default those of DNS.
	resolve func(ctx context.Context, host string) ([]string, error)
}

// Validate returns an *field.Error for the first field out of range,
// or what package transport refuses.
func (c PeersConfig) Validate() error {
	switch {
	case c.Interval < 0:
		return &field.Error{Package: "aggregate", Field: "Interval", Value: c.Interval, Err: aggregate.ErrRange}
	case c.Timeout < 0:
		return &field.Error{Package: "aggregate", Field: "Timeout", Value: c.Timeout, Err: aggregate.ErrRange}
	}
	for _, t := range c.Targets {
		if _, _, err := net.SplitHostPort(strings.TrimPrefix(t, allOf)); err != nil {
			return &field.Error{Package: "aggregate", Field: "Targets", Value: t, Err: err}
		}
		if _, err := transport.DialOptions(t, c.Transport); err != nil {
			return err
		}
	}
	return nil
}

func (c PeersConfig) withDefaults() PeersConfig {
	c.Interval = cmp.Or(c.Interval, time.Second)
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	if c.resolve == nil {
		c.resolve = net.DefaultResolver.LookupHost
	}
	if c.OnError == nil {
		c.OnError = func(string, error) {}
	}
	return c
}

// allOf begins a target that means every address of a name.
const allOf = "dns:///"

// Peers keeps a Server and the other replicas in agreement: in every round it
// asks each of them for what changed there since the last. Only answers to its
// own calls are merged, so a client that may push cannot speak for a replica. Its
// methods are safe for concurrent use.
type Peers struct {
	server *Server
	config PeersConfig

	mu    sync.Mutex // one round at a time
	peers map[string]*peer

	// longest is the time since the last completed exchange with the peer for which it is
	// longest, as of the last round; since the first attempt where there was none.
	longest atomic.Int64
}

// peer is one address and how far its changes have been read.
type peer struct {
	addr, target string
	connection   *grpc.ClientConn
	replica      uint64
	cursor       uint64
	self         bool
	failing      bool
	last         time.Time
}

// NewPeers checks the config; nothing is connected yet.
func NewPeers(s *Server, c PeersConfig) (*Peers, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Peers{server: s, config: c.withDefaults(), peers: map[string]*peer{}}, nil
}

func (p *Peers) lag() time.Duration { return time.Duration(p.longest.Load()) }

// Run makes a round now and at every interval until ctx ends, and then returns
// nil. After the first it releases the server (Config.Hold), whichever peers answered.
func (p *Peers) Run(ctx context.Context) error {
	defer p.Close()
	ticker := time.NewTicker(p.config.Interval)
	defer ticker.Stop()
	first, cancel := context.WithTimeout(ctx, firstRound)
	_ = p.round(first) // OnError was called
	cancel()
	p.server.refresh()
	p.server.release()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			_ = p.round(ctx)
		}
	}
}

// firstRound bounds the time for which absent peers hold up a start.
const firstRound = 2 * time.Second

// round exchanges once with every peer, with all at the same time, and returns
// when the last is done. The error joins those of the peers.
func (p *Peers) round(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resolve(ctx)
	addrs := slices.Sorted(maps.Keys(p.peers))
	errs := make([]error, len(addrs))
	var exchanging sync.WaitGroup
	for i, addr := range addrs {
		if peer := p.peers[addr]; !peer.self {
			exchanging.Add(1)
			go func() {
				defer exchanging.Done()
				errs[i] = p.exchange(ctx, peer)
			}()
		}
	}
	exchanging.Wait()
	p.note()
	return errors.Join(errs...)
}

func (p *Peers) note() {
	now, longest := p.server.config.Now(), time.Duration(0)
	for _, peer := range p.peers {
		if !peer.self {
			longest = max(longest, now.Sub(peer.last))
		}
	}
	p.longest.Store(int64(longest))
}

// resolve adds new addresses and drops those that are gone. A name that can't
// be resolved keeps the addresses it had.
func (p *Peers) resolve(ctx context.Context) {
	found := map[string]string{}
	for _, target := range p.config.Targets {
		name, ok := strings.CutPrefix(target, allOf)
		if !ok {
			found[target] = target
			continue
		}
		host, port, err := net.SplitHostPort(name)
		if err != nil {
			continue // Validate has seen to it
		}
		lookup, cancel := context.WithTimeout(ctx, p.config.Timeout)
		hosts, err := p.config.resolve(lookup, host)
		cancel()
		if err != nil {
			p.config.OnError(target, err)
			for addr, peer := range p.peers {
				if peer.target == target {
					found[addr] = target
				}
			}
		}
		for _, h := range hosts {
			found[net.JoinHostPort(h, port)] = target
		}
	}
	for addr, peer := range p.peers {
		if _, ok := found[addr]; !ok {
			peer.close()
			delete(p.peers, addr)
		}
	}
	for addr, target := range found {
		if p.peers[addr] == nil {
			p.peers[addr] = &peer{addr: addr, target: target, last: p.server.config.Now()}
		}
	}
}

// exchange reads all that changed at one peer. After a failure the connection is made anew in
// the next round, so that gRPC's own backoff does not keep replicas apart.
func (p *Peers) exchange(ctx context.Context, peer *peer) error {
	within, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()
	err := p.pull(within, peer)
	if err == nil {
		peer.last, peer.failing = p.server.config.Now(), false
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) { // given up, which says nothing of the peer
		peer.close()
		return fmt.Errorf("modelserver: exchange with %s: %w", peer.addr, context.Cause(ctx))
	}
	err = fmt.Errorf("modelserver: exchange with %s: %w", peer.addr, err)
	if !peer.failing {
		p.config.OnError(peer.addr, err)
	}
	peer.failing = true
	peer.close()
	return err
}

func (p *Peers) pull(ctx context.Context, peer *peer) error {
	if err := p.connect(peer); err != nil {
		return err
	}
	stream, err := spaziov1.NewPeerServiceClient(peer.connection).Changes(ctx, &spaziov1.ChangesRequest{
		Replica: p.server.config.replica, Of: peer.replica, Cursor: peer.cursor,
	})
	if err != nil {
		return err
	}
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := p.mergeChunk(peer, chunk); err != nil {
			return err
		}
	}
}

// mergeChunk merges a chunk, or refuses all of it.
func (p *Peers) mergeChunk(peer *peer, chunk *spaziov1.StateChunk) error {
	if err := api.CheckChunk(chunk); err != nil {
		return err
	}
	entries, err := toEntries(chunk.GetStates())
	if err != nil {
		return err
	}
	if chunk.GetReplica() == p.server.config.replica {
		peer.self = true
		return nil
	}
	p.server.mergeEntries(entries, chunk.GetReplica())
	peer.replica, peer.cursor = chunk.GetReplica(), chunk.GetCursor()
	return nil
}

func (p *Peers) connect(peer *peer) error {
	if peer.connection != nil {
		return nil
	}
	target := "passthrough:///" + peer.addr
	options, err := transport.DialOptions(target, p.config.Transport)
	if err != nil {
		return err
	}
	options = append(options, grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: p.config.Timeout}))
	if name, ok := strings.CutPrefix(peer.target, allOf); ok {
		options = append(options, grpc.WithAuthority(name)) // certificates are the name's, not the address's
	}
	peer.connection, err = grpc.NewClient(target, options...)
	return err
}

func (peer *peer) close() {
	if peer.connection != nil {
		_ = peer.connection.Close()
		peer.connection = nil
	}
}

// Close closes the connections; Run does so when it ends. A further round opens
// them again.
func (p *Peers) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, peer := range p.peers {
		peer.close()
	}
}

// maxReaders bounds the calls of Changes at one time: each holds a chunk.
const maxReaders = 64

// Changes implements spaziov1.PeerServiceServer. What changes while it answers
// is left for the next call.
func (s *Server) Changes(r *spaziov1.ChangesRequest, stream grpc.ServerStreamingServer[spaziov1.StateChunk]) error {
	if r.GetReplica() == s.config.replica { // it has found itself
		return stream.Send(&spaziov1.StateChunk{Replica: s.config.replica})
	}
	defer s.readers.Add(-1)
	if s.readers.Add(1) > maxReaders {
		return status.Errorf(codes.ResourceExhausted, "%d replicas are being answered", maxReaders)
	}
	var cursor, upto uint64
	if r.GetOf() == s.config.replica {
		cursor = r.GetCursor()
	}
	s.locked(func() {
		s.merge()
		upto = s.aggregate.Cursor()
	})
	for {
		var entries []aggregate.Entry
		s.locked(func() {
			entries, cursor = s.aggregate.Changes(s.config.Now(), cursor, upto, r.GetReplica(), chunkSize)
		})
		chunk := &spaziov1.StateChunk{Replica: s.config.replica, Cursor: cursor, States: make([]*spaziov1.NodeState, len(entries))}
		for i, e := range entries {
			chunk.States[i] = fromEntry(e)
		}
		if err := stream.Send(chunk); err != nil || cursor >= upto {
			return err
		}
	}
}

// mergeEntries merges what another replica has sent; all of it was checked.
func (s *Server) mergeEntries(entries []aggregate.Entry, from uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.config.Now()
	for _, e := range entries {
		// What the aggregate has no room for, or does not merge, is left out.
		if merged, err := s.aggregate.Merge(at, e, from); err == nil && merged {
			s.changed = true
		}
	}
}

// chunkSize is where a chunk of states ends: with the largest state after it,
// it is well within the 256 KiB of a message.
const chunkSize = 128 << 10

func fromEntry(e aggregate.Entry) *spaziov1.NodeState {
	m := &spaziov1.NodeState{
		Node: e.Node, Incarnation: e.Incarnation, Sequence: e.Sequence,
		Schema: e.Schema, Dim: uint32(e.Dim),
		AgeNanos: int64(e.Age), Weight: e.Weight, Moments: e.Moments, Mean: e.Mean,
		Costs: make([]*spaziov1.Cost, len(e.Costs)),
	}
	for i, c := range e.Costs {
		m.Costs[i] = &spaziov1.Cost{Value: c.Value, Sd: c.SD, Known: c.Known}
	}
	return m
}

// toEntries converts states that were checked by package api; the entries share
// their memory. The error names the field that package aggregate refuses.
func toEntries(states []*spaziov1.NodeState) ([]aggregate.Entry, error) {
	entries := make([]aggregate.Entry, len(states))
	for i, m := range states {
		entries[i] = toEntry(m)
		if err := entries[i].Validate(); err != nil {
			return nil, refuseState(i, err)
		}
	}
	return entries, nil
}

func toEntry(m *spaziov1.NodeState) aggregate.Entry {
	e := aggregate.Entry{
		Node: m.GetNode(), Incarnation: m.GetIncarnation(), Sequence: m.GetSequence(),
		Schema: m.GetSchema(), Dim: int(m.GetDim()),
		Age: time.Duration(m.GetAgeNanos()), Weight: m.GetWeight(), Moments: m.GetMoments(), Mean: m.GetMean(),
	}
	e.Costs = appendCosts(nil, m.GetCosts())
	return e
}

// appendCosts converts costs; those that are not known are zero, whatever their values.
func appendCosts(dst []aggregate.Cost, costs []*spaziov1.Cost) []aggregate.Cost {
	for _, c := range costs {
		cost := aggregate.Cost{}
		if c.GetKnown() {
			cost = aggregate.Cost{Value: c.GetValue(), SD: c.GetSd(), Known: true}
		}
		dst = append(dst, cost)
	}
	return dst
}

func refuseState(i int, err error) error {
	bad := field.By(err, "aggregate")
	if bad == nil {
		return err
	}
	return &field.Error{Package: "api", Field: fmt.Sprintf("states[%d].%s", i, strings.ToLower(bad.Field)), Value: bad.Value, Err: bad.Err}
}
