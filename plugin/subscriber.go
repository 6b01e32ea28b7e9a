package plugin

import (
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/reserve"
)

type publishStream = grpc.BidiStreamingServer[spaziov1.Report, spaziov1.Notice]

// closeReason is the reason why the scheduler ends a stream.
type closeReason struct {
	label   string // of the metric
	code    codes.Code
	message string
}

var (
	errStopping   = &closeReason{"", codes.Unavailable, "scheduler is stopping"}
	errIdle       = &closeReason{closedIdle, codes.DeadlineExceeded, "no report that counts for too long"}
	errExpired    = &closeReason{closedExpired, codes.Unauthenticated, "the token has expired: come again with the next one"}
	errSuperseded = &closeReason{closedSuperseded, codes.Aborted, "a newer stream reports on the same node"}
	errSlow       = &closeReason{closedSlow, codes.ResourceExhausted, "notices are not being read"}
)

// noticeBacklog is how many notices may wait for an agent: more than the pods that a node gets in
// the seconds for which a healthy agent may pause.
const noticeBacklog = 64

// subscriber is one stream. A node has at most one: the newest.
type subscriber struct {
	// identity is the only node whose reports are accepted; empty accepts any.
	identity string
	// name and node are set by the receiving goroutine at the first report; node
	// changes if the API's node was deleted and made again. base is the last full
	// report of the stream.
	name   string
	base   version
	mu     sync.Mutex
	node   *node
	closed bool
	// admit is called with each report of a stream that is its node's.
	admit func()
	// leave is set by admit, and called when the last report has been received.
	leave func()
	// idle fires when the stream has brought no such report for too long.
	idle    *time.Timer
	stream  publishStream
	notices outbox
	// ended holds the reason why the scheduler ends the stream.
	ended chan *closeReason
	// spawn starts a goroutine that the Hub waits for.
	spawn func(func())
}

// outbox holds the notices that wait to be sent. A goroutine sends them only while there are
// some, because most agents get none most of the time.
type outbox struct {
	mu    sync.Mutex
	binds []agent.Bind
	// many is how many notices of a node's pods were queued at once; they do not count towards
	// noticeBacklog.
	many int
	// placeholders is the newest set of placeholders, nil once it was sent. It replaces the sets before it
	// and does not count towards noticeBacklog.
	placeholders *[]reserve.PodKey
	sending      bool
	closed       bool
}

func newSubscriber(stream publishStream, identity string, spawn func(func())) *subscriber {
	return &subscriber{identity: identity, stream: stream, spawn: spawn, ended: make(chan *closeReason, 1)}
}

// end ends the stream; only the first reason counts.
func (s *subscriber) end(why *closeReason) {
	select {
	case s.ended <- why:
	default:
	}
}

// enqueue queues a notice without ever waiting. A full queue ends the stream, and the agent starts
// over with a new one.
func (s *subscriber) enqueue(b agent.Bind) (queued bool) {
	return s.update(func(o *outbox) bool {
		if len(o.binds) >= noticeBacklog+o.many {
			s.end(errSlow)
			return false
		}
		o.binds = append(o.binds, b)
		return true
	})
}

// enqueueAll queues the notices of all of a node's pods, once or twice a stream.
func (s *subscriber) enqueueAll(binds []agent.Bind) {
	if len(binds) == 0 {
		return
	}
	s.update(func(o *outbox) bool {
		o.binds, o.many = append(o.binds, binds...), len(binds)
		return true
	})
}

// enqueuePlaceholders queues the node's set of placeholders.
func (s *subscriber) enqueuePlaceholders(pods []reserve.PodKey) {
	s.update(func(o *outbox) bool {
		o.placeholders = &pods
		return true
	})
}

// update edits the outbox, unless it is closed, and makes sure that its notices are being sent if
// there are more now. It returns what edit does.
func (s *subscriber) update(edit func(*outbox) (more bool)) bool {
	o := &s.notices
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || !edit(o) {
		return false
	}
	if !o.sending {
		o.sending = true
		s.spawn(s.send)
	}
	return true
}

// send sends notices until none is left or the stream ends.
func (s *subscriber) send() {
	for {
		placeholders, binds := s.notices.take()
		if placeholders == nil && len(binds) == 0 {
			return
		}
		var notices []*spaziov1.Notice
		if placeholders != nil {
			notices = append(notices, &spaziov1.Notice{Event: &spaziov1.Notice_GhostPods{GhostPods: api.FromPlaceholders(*placeholders)}})
		}
		for _, b := range binds {
			notices = append(notices, &spaziov1.Notice{Event: &spaziov1.Notice_PodBound{PodBound: api.FromBind(b)}})
		}
		for _, notice := range notices {
			if s.stream.Send(notice) != nil {
				s.notices.close() // the receiver learns why
				return
			}
		}
	}
}

// take empties the outbox. A sender that gets no notice must end, because the next notice starts
// a goroutine of its own.
func (o *outbox) take() (placeholders *[]reserve.PodKey, binds []agent.Bind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	placeholders, binds = o.placeholders, o.binds
	o.placeholders, o.binds = nil, nil
	o.sending = (placeholders != nil || len(binds) > 0) && !o.closed
	if o.closed {
		return nil, nil
	}
	return placeholders, binds
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}
