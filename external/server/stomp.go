package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/go-stomp/stomp/v3/frame"

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
	messages int // sent; only the writer uses it

	mu        sync.Mutex
	connected bool
	beats     beats
	received  time.Time // when the client last sent something
	sent      time.Time
}

func newStomp(p *peer) protocol {
	return &stompSession{subscriptions: newSubscriptions(p), received: time.Now(), sent: time.Now()}
}

func (s *stompSession) read(ctx context.Context, data []byte) error {
	s.mu.Lock()
	if s.connected { // before that, nothing postpones the end
		s.received = time.Now()
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
	if s.peer.who.Load().token == "" {
		header := cmp.Or(f.Header.Get("Authorization"), f.Header.Get("authorization"))
		if err := s.peer.identify(ctx, strings.TrimSpace(strings.TrimPrefix(header, "Bearer "))); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.connected, s.beats, s.received = true, b, time.Now()
	s.mu.Unlock()
	s.signal() // the writer learns how often to beat
	answer := frame.New(frame.CONNECTED, frame.Version, version, frame.Server, "spazio",
		frame.HeartBeat, fmt.Sprintf("%d,%d", b.send.Milliseconds(), b.expect.Milliseconds()))
	return s.send(answer)
}

func (s *stompSession) subscribe(ctx context.Context, f *frame.Frame) error {
	w := s.peer.watches
	if err := w.server.callers.enter(s.peer.is()); err != nil {
		return err
	}
	destination := f.Header.Get(frame.Destination)
	topic, isTopic := strings.CutPrefix(destination, "/topic/")
	kind, name, _ := strings.Cut(topic, "/")
	if !isTopic || !slices.Contains([]wire.Kind{wire.Testbeds, wire.Jobs, wire.Schedulings}, wire.Kind(kind)) {
		return fmt.Errorf("%q is not /topic/testbeds, /topic/jobs or /topic/schedulings, nor one of these with /NAME", destination)
	}
	r := wire.Request{Kinds: []wire.Kind{wire.Kind(kind)}, Namespace: w.server.config.DefaultNamespace}
	if name != "" {
		if !wire.ValidName(name) {
			return fmt.Errorf("nothing can have the name %q", name)
		}
		r.Names = []string{name}
	}
	r.Cursor = w.hub.cursor(newFilter(r.Kinds, r.Namespace, r.Names)) // what is there already is not sent
	return s.subscriptions.subscribe(ctx, &subscription{id: idOf(f), destination: destination, objects: name != ""}, r)
}

// idOf is the name that the client has for a subscription.
func idOf(f *frame.Frame) string {
	return cmp.Or(f.Header.Get(frame.Id), f.Header.Get(frame.Destination))
}

// write sends what has changed, and heart-beats.
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
			if err := s.sendNews(ctx); err != nil {
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

// beat sends a heart-beat if it is time to, and returns when to look again.
func (s *stompSession) beat(now time.Time, slow time.Duration) (time.Duration, error) {
	s.mu.Lock()
	connected, b, received, sent := s.connected, s.beats, s.received, s.sent
	s.mu.Unlock()
	silent := now.Sub(received)
	switch {
	case !connected && silent >= slow:
		return 0, &ending{wire.CloseUnauthorized, "no CONNECT has come"}
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
	if now.Sub(sent) >= early {
		if err := s.send(nil); err != nil {
			return 0, err
		}
		sent = now
	}
	return min(next, early-now.Sub(sent)), nil
}

// sendNews sends what is new, of each subscription in turn: one that never ends delays no other.
func (s *stompSession) sendNews(ctx context.Context) error {
	for {
		more, err := s.turn(func(t *subscription, m wire.Message) error { return s.message(ctx, t, m) })
		if err != nil || !more {
			return err
		}
	}
}

// message sends the frames of a subscription's message.
func (s *stompSession) message(ctx context.Context, t *subscription, m wire.Message) error {
	for _, o := range m.Objects { // after a reset
		m.Events = append(m.Events, wire.Event{Type: wire.Modified, Object: o})
	}
	for _, e := range m.Events {
		if err := s.event(ctx, t, e); err != nil {
			return err
		}
	}
	s.peer.watches.sent(&m)
	return nil
}

// event sends a message of an object's name or of the object, as the thesis has it: of a test
// bed that has gone meanwhile without slots.
func (s *stompSession) event(ctx context.Context, t *subscription, e wire.Event) error {
	object, err := e.Decode()
	if err != nil {
		return err
	}
	body, mediaType := []byte(object.Common().Name), "text/plain"
	if t.objects {
		seed, err := s.peer.watches.server.seedBody(ctx, object)
		if err != nil && !wire.IsStatus(err, http.StatusNotFound) {
			return err
		}
		if body, err = json.Marshal(seed); err != nil {
			return err
		}
		mediaType = jsonType
	}
	s.messages++
	f := frame.New(frame.MESSAGE, frame.Destination, t.destination, frame.Subscription, t.id,
		frame.MessageId, strconv.Itoa(s.messages), frame.ContentType, mediaType,
		frame.ContentLength, strconv.Itoa(len(body)), "event", e.Type)
	f.Body = body
	return s.send(f)
}

// refuse sends the client what was wrong with which frame; that ends the connection.
func (s *stompSession) refuse(f *frame.Frame, err error) error {
	code := websocket.StatusPolicyViolation
	switch {
	case wire.IsStatus(err, http.StatusUnauthorized):
		code = wire.CloseUnauthorized
	case wire.IsStatus(err, http.StatusForbidden):
		code = wire.CloseForbidden
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
	s.sent = time.Now()
	s.mu.Unlock()
	return s.peer.send(data)
}

// errFrame is what is no frame.
var errFrame = errors.New("malformed frame")

var contentLength = regexp.MustCompile(`(?m)^content-length:([^\r\n]*)\r?$`)

// parseFrames reads the frames of a message; line ends between them are heart-beats.
func parseFrames(data []byte) ([]*frame.Frame, error) {
	// The reader makes room for a body of the length that the frame claims.
	for _, match := range contentLength.FindAllSubmatch(data, -1) {
		if n, err := strconv.ParseUint(string(match[1]), 10, 31); err != nil || n > uint64(len(data)) {
			return nil, errFrame
		}
	}
	var all []*frame.Frame
	r := frame.NewReader(bytes.NewReader(data))
	for {
		f, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			// What ends amid a frame ends so, too.
			if rest := bytes.TrimRight(data, "\r\n"); len(rest) > 0 && (len(all) == 0 || rest[len(rest)-1] != 0) {
				return nil, errFrame
			}
			return all, nil
		case err != nil:
			return nil, errFrame
		case f != nil:
			all = append(all, f)
		}
	}
}

// encodeFrame is the inverse of parseFrames.
func encodeFrame(f *frame.Frame) ([]byte, error) {
	var b bytes.Buffer
	err := frame.NewWriter(&b).Write(f)
	return b.Bytes(), err
}

// stompVersions are in the order of preference.
var stompVersions = []string{"1.2", "1.1", "1.0"}

// negotiate returns the newest version that both know; who accepts nothing in particular
// knows the first.
func negotiate(accepted string) (string, bool) {
	theirs := strings.Split(strings.ReplaceAll(cmp.Or(accepted, "1.0"), " ", ""), ",")
	for _, v := range stompVersions {
		if slices.Contains(theirs, v) {
			return v, true
		}
	}
	return "", false
}

// beats are how often each side of a connection has to send something; 0 is never.
type beats struct{ send, expect time.Duration }

// agree returns what comes of what both offer and want: the slower of both.
func agree(header string, own time.Duration) (beats, error) {
	if header == "" {
		return beats{}, nil
	}
	offered, wanted, err := frame.ParseHeartBeat(header)
	if err != nil {
		return beats{}, errFrame
	}
	for _, d := range []*time.Duration{&offered, &wanted} {
		if *d > 0 {
			*d = max(*d, own)
		}
	}
	return beats{send: wanted, expect: offered}, nil
}
