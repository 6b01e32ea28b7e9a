package plugin

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/reserve"
)

// bind is what a notice tells of a pod.
type bind struct {
	pod   reserve.PodKey
	inits uint32 // init containers
}

func bindOf(key reserve.PodKey, pod *v1.Pod) bind {
	return bind{key, uint32(len(pod.Spec.InitContainers))}
}

// noticeBacklog is how many notices may wait for an agent: more than a node
// gets pods in the seconds a healthy agent may pause.
const noticeBacklog = 64

// subscriber is one stream. A node has one at most: the newest.
type subscriber struct {
	// identity is the node whose reports alone are taken; empty for any.
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
	// idle fires when the stream brought no such report for too long.
	idle    *time.Timer
	stream  publishStream
	notices outbox
	// ended holds why the scheduler ends the stream.
	ended chan *parting
	// spawn starts a goroutine that the Hub waits for.
	spawn func(func())
}

// outbox is the notices that wait to be sent. While there are some, a goroutine
// sends them: most agents get none for most of the time.
type outbox struct {
	mu      sync.Mutex
	binds   []bind
	sending bool
	closed  bool
}

func newSubscriber(stream publishStream, identity string, spawn func(func())) *subscriber {
	return &subscriber{identity: identity, stream: stream, spawn: spawn, ended: make(chan *parting, 1)}
}

// end ends the stream; the first reason counts.
func (s *subscriber) end(why *parting) {
	select {
	case s.ended <- why:
	default:
	}
}

// offer queues a notice without ever waiting; a full queue ends the stream, and
// the agent starts over with a new one.
func (s *subscriber) offer(b bind) (queued bool) {
	o := &s.notices
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	if len(o.binds) == noticeBacklog {
		s.end(errSlow)
		return false
	}
	o.binds = append(o.binds, b)
	if !o.sending {
		o.sending = true
		s.spawn(s.send)
	}
	return true
}

// send sends notices until none is left or the stream ends.
func (s *subscriber) send() {
	for {
		binds := s.notices.take()
		if len(binds) == 0 {
			return
		}
		for _, b := range binds {
			notice := &spaziov1.Notice{Event: &spaziov1.Notice_PodBound{PodBound: &spaziov1.PodBound{
				Pod: uint64(b.pod), InitContainers: &b.inits,
			}}}
			if s.stream.Send(notice) != nil {
				s.notices.close() // the receiver learns why
				return
			}
		}
	}
}

// take empties the outbox. Who gets nothing has to end: the next notice starts a
// goroutine of its own.
func (o *outbox) take() []bind {
	o.mu.Lock()
	defer o.mu.Unlock()
	binds := o.binds
	o.binds = nil
	o.sending = len(binds) > 0 && !o.closed
	if o.closed {
		return nil
	}
	return binds
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// subscribe makes a stream that of a node, and says whether it is. It takes the
// place of another only if it is ahead, with a newer report: a stream of old ones
// must not cut the node's own agent off.
func (h *Hub) subscribe(n *node, sub *subscriber, ahead bool) bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.name = n.name
	if sub.node == n || sub.closed {
		return !sub.closed
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stream != nil {
		if !ahead {
			return false
		}
		n.stream.end(errSuperseded)
	}
	sub.node, n.stream = n, sub
	return true
}

func (h *Hub) unsubscribe(sub *subscriber) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.closed = true
	if sub.node == nil {
		return
	}
	sub.node.mu.Lock()
	defer sub.node.mu.Unlock()
	if sub.node.stream == sub {
		sub.node.stream = nil
	}
}

// notify tells a node's agent that a pod was bound to it.
func (h *Hub) notify(name string, b bind) {
	n := h.nodes.get(name)
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stream != nil && n.stream.offer(b) {
		h.metrics.notice(noticeQueued)
	}
}
