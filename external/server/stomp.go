package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/go-stomp/stomp/v3/frame"

	"github.com/spazio-scheduler/spazio/external/internal/hub"
	"github.com/spazio-scheduler/spazio/external/wire"
)

// stompProtocols are WebSocket's names of STOMP's versions.
var stompProtocols = []string{"v12.stomp", "v11.stomp", "v10.stomp"}

// stomp is GET /scheduler: the thesis's way to follow objects, STOMP over WebSocket. Topics
// are /topic/KIND, on which a message is the name of what has changed, and
// /topic/KIND/NAME, on which it is the object. Nothing can be sent.
func (s *Server) stomp(c *call) error {
	if err := s.watches.ready(c.r.Context()); err != nil {
		return err
	}
	token := tokenOf(c.r)
	if token != "" { // else the first frame has it
		var err error
		if c.caller, err = s.authenticate(c.r.Context(), token); err != nil {
			return err
		}
	} else {
		host, _, _ := net.SplitHostPort(c.r.RemoteAddr)
		c.caller.Name = anonymousName + network(host)
	}
	return s.watches.serve(c, stompProtocols, token, newStomp)
}

// network is an address, of IPv6 the first 64 bits: the others are the caller's choice.
func network(host string) string {
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Unmap().Is4() {
		return host
	}
	return netip.PrefixFrom(ip.WithZone(""), 64).Masked().String()
}

// stompSession is the protocol of /scheduler.
type stompSession struct {
	*subscriptions
	peer     *peer
	messages int // told; the writer's alone

	mu        sync.Mutex
	connected bool
	beats     beats
	heard     time.Time // when the client last said something
	said      time.Time
}

func newStomp(p *peer) protocol {
	return &stompSession{subscriptions: newSubscriptions(), peer: p, heard: time.Now(), said: time.Now()}
}

func (s *stompSession) read(ctx context.Context, data []byte) error {
	s.mu.Lock()
	if s.connected { // else nothing that is said puts off the end
		s.heard = time.Now()
	}
	s.mu.Unlock()
	frames, err := parseFrames(data)
	if err != nil {
		return s.refuse(frame.New(""), err)
	}
	for _, f := range frames {
		if err := s.take(ctx, f); err != nil {
			var end *ending
			if errors.As(err, &end) {
				return err
			}
			return s.refuse(f, err)
		}
	}
	return nil
}

// take does what a frame asks for.
func (s *stompSession) take(ctx context.Context, f *frame.Frame) error {
	s.mu.Lock()
	connected := s.connected
	s.mu.Unlock()
	connects := f.Command == frame.CONNECT || f.Command == frame.STOMP
	switch {
	case connects && connected:
		return errors.New("connected already")
	case connects:
		return s.connect(ctx, f)
	case !connected:
		return errors.New("not connected yet")
	}
	var err error
	switch f.Command {
	case frame.SUBSCRIBE:
		err = s.subscribe(ctx, f)
	case frame.UNSUBSCRIBE:
		if id := idOf(f); !s.remove(id) {
			err = fmt.Errorf("there is no subscription %q", id)
		}
	case frame.ACK, frame.NACK, frame.DISCONNECT: // nothing waits for an answer
	default:
		err = errors.New("nothing can be sent here")
	}
	if err != nil {
		return err
	}
	if receipt, ok := f.Header.Contains(frame.Receipt); ok {
		if err := s.send(frame.New(frame.RECEIPT, frame.ReceiptId, receipt)); err != nil {
			return err
		}
	}
	if f.Command == frame.DISCONNECT { // the client closes once it has the receipt
		s.close()
		s.mu.Lock()
		s.connected = false
		s.mu.Unlock()
	}
	return nil
}

func (s *stompSession) connect(ctx context.Context, f *frame.Frame) error {
	version, ok := negotiate(f.Header.Get(frame.AcceptVersion))
	if !ok {
		return errors.New("versions 1.0, 1.1 and 1.2 are spoken")
	}
	b, err := agree(f.Header.Get(frame.HeartBeat), s.peer.watches.server.config.Watch.Ping)
	if err != nil {
		return err
	}
	if s.peer.shown() == "" {
		header := cmp.Or(f.Header.Get("Authorization"), f.Header.Get("authorization"))
		if err := s.peer.identify(ctx, strings.TrimSpace(strings.TrimPrefix(header, "Bearer "))); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.connected, s.beats, s.heard = true, b, time.Now()
	s.mu.Unlock()
	s.stir() // the writer learns how often to beat
	answer := frame.New(frame.CONNECTED, frame.Version, version, frame.Server, "spazio",
		frame.HeartBeat, fmt.Sprintf("%d,%d", b.send.Milliseconds(), b.expect.Milliseconds()))
	return s.send(answer)
}

func (s *stompSession) subscribe(ctx context.Context, f *frame.Frame) error {
	server := s.peer.watches.server
	if err := server.callers.enter(s.peer.is()); err != nil {
		return err
	}
	destination := f.Header.Get(frame.Destination)
	next := &subscription{id: idOf(f), destination: destination}
	var kind, name string
	if topic, ok := strings.CutPrefix(destination, "/topic/"); ok {
		kind, name, _ = strings.Cut(topic, "/")
	}
	switch wire.Kind(kind) {
	case wire.Testbeds, wire.Jobs, wire.Schedulings:
	default:
		return fmt.Errorf("%q is not /topic/testbeds, /topic/jobs or /topic/schedulings, nor one of these with /NAME", destination)
	}
	var names []string
	if next.objects = name != ""; next.objects {
		if !wire.ValidName(name) {
			return fmt.Errorf("nothing can have the name %q", name)
		}
		names = []string{name}
	}
	access := Access{Verb: Watch, Kind: wire.Kind(kind), Namespace: server.config.DefaultNamespace}
	if err := server.authorize(ctx, s.peer.is(), access); err != nil {
		return err
	}
	next.takes = []Access{access}
	filter, err := hub.NewFilter([]wire.Kind{wire.Kind(kind)}, server.config.DefaultNamespace, names)
	if err != nil {
		return err
	}
	switch {
	case len(s.current()) >= server.config.Limits.Subscriptions:
		return errors.New("too many subscriptions")
	case s.has(next.id):
		return fmt.Errorf("there is a subscription %q", next.id)
	}
	if next.hub, err = s.peer.watches.hub.SubscribeNow(filter, s.stir); err != nil {
		return err
	}
	s.add(next)
	return nil
}

// idOf is the name that the client has for a subscription.
func idOf(f *frame.Frame) string {
	return cmp.Or(f.Header.Get(frame.Id), f.Header.Get(frame.Destination))
}

// write tells what has changed, and beats.
func (s *stompSession) write(ctx context.Context) error {
	intervals := &s.peer.watches.server.config.Watch
	timer := time.NewTimer(intervals.Slow)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		case <-s.wake:
			if err := s.tell(ctx); err != nil {
				return err
			}
		}
		next, err := s.beat(time.Now(), intervals.Slow)
		if err != nil {
			return err
		}
		timer.Reset(next)
	}
}

// beat says something if it is time to, and returns when to look again.
func (s *stompSession) beat(now time.Time, slow time.Duration) (time.Duration, error) {
	s.mu.Lock()
	connected, b, heard, said := s.connected, s.beats, s.heard, s.said
	s.mu.Unlock()
	silent := now.Sub(heard)
	switch {
	case !connected && silent >= slow:
		return 0, &ending{wire.CloseUnauthorized, "nobody has connected"}
	case !connected:
		return slow - silent, nil
	case b.expect > 0 && silent > 2*b.expect+time.Second: // clocks and ways differ
		return 0, &ending{wire.CloseSlow, "no heart-beat has come"}
	}
	next := slow
	if b.expect > 0 {
		next = min(next, b.expect)
	}
	if b.send == 0 {
		return next, nil
	}
	early := b.send * 3 / 4 // so that it is there in time
	if now.Sub(said) >= early {
		if err := s.send(nil); err != nil {
			return 0, err
		}
		said = now
	}
	return min(next, early-now.Sub(said)), nil
}

// tell sends what there is, of each subscription in turn: one that is never done holds up no
// other.
func (s *stompSession) tell(ctx context.Context) error {
	for {
		more, err := s.turn(func(t *subscription, m wire.Message) error { return s.message(ctx, t, m) })
		if err != nil || !more {
			return err
		}
	}
}

// message sends what a subscription is told.
func (s *stompSession) message(ctx context.Context, t *subscription, m wire.Message) error {
	for _, o := range m.Objects { // after a reset
		m.Events = append(m.Events, wire.Event{Type: wire.Modified, Object: o})
	}
	for _, e := range m.Events {
		if err := s.event(ctx, t, e); err != nil {
			return err
		}
	}
	s.peer.watches.events.WithLabelValues(told).Add(float64(len(m.Events)))
	if m.Type == wire.Reset {
		s.peer.watches.events.WithLabelValues(reset).Inc()
	}
	return nil
}

// event sends a message of an object's name or of the object, as the thesis has it.
func (s *stompSession) event(ctx context.Context, t *subscription, e wire.Event) error {
	var meta wire.Meta
	if err := json.Unmarshal(e.Object.Object, &meta); err != nil {
		return err
	}
	body, mediaType := []byte(meta.Name), "text/plain"
	if t.objects {
		object, err := s.peer.watches.server.seedObject(ctx, e.Object)
		if err != nil {
			return err
		}
		body, mediaType = object, jsonType
	}
	s.messages++
	f := frame.New(frame.MESSAGE, frame.Destination, t.destination, frame.Subscription, t.id,
		frame.MessageId, strconv.Itoa(s.messages), frame.ContentType, mediaType,
		frame.ContentLength, strconv.Itoa(len(body)), "event", e.Type)
	f.Body = body
	return s.send(f)
}

// refuse tells the client what was wrong, of which frame; that ends the connection.
func (s *stompSession) refuse(f *frame.Frame, err error) error {
	code := websocket.StatusPolicyViolation
	var p *wire.Problem
	if errors.As(err, &p) {
		switch p.Status {
		case http.StatusUnauthorized:
			code = wire.CloseUnauthorized
		case http.StatusForbidden:
			code = wire.CloseForbidden
		}
	}
	e := frame.New(frame.ERROR, frame.Message, err.Error(), frame.ContentType, "text/plain")
	if receipt, ok := f.Header.Contains(frame.Receipt); ok {
		e.Header.Add(frame.ReceiptId, receipt)
	}
	if err := s.send(e); err != nil {
		return err
	}
	return &ending{code, "refused"}
}

// send writes a frame; nil is a heart-beat. Both goroutines do.
func (s *stompSession) send(f *frame.Frame) error {
	data, err := encodeFrame(f)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.said = time.Now()
	s.mu.Unlock()
	return s.peer.send(data)
}
