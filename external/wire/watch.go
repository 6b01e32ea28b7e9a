package wire

import (
	"encoding/json"
	"fmt"
)

// Subprotocol is the WebSocket subprotocol of /external/v1/watch.
const Subprotocol = "spazio.external.v1"

// Ops of a [Request].
const (
	OpSubscribe   = "subscribe"
	OpUnsubscribe = "unsubscribe"
	OpPing        = "ping"
)

// Request is a client's message on the watch.
type Request struct {
	Op string `json:"op"`
	// ID is the client's name of a subscription, in all messages about it.
	ID    string `json:"id,omitempty"`
	Kinds []Kind `json:"kinds,omitempty"`
	// Namespace has the objects; empty is all namespaces, which takes the right to
	// all of them.
	Namespace string `json:"namespace,omitempty"`
	// Names are the objects' names; none are all.
	Names []string `json:"names,omitempty"`
	// Cursor is where an earlier subscription of the same namespace and names left off, or that
	// of an [Overview]: what has changed since is sent as events, kinds that it is not about as
	// a snapshot. Without one everything is sent first. One of another replica, or one that is
	// too old, brings a Reset.
	Cursor string `json:"cursor,omitempty"`
}

// Types of a [Message].
const (
	// Snapshot has a page of objects, which take the place of what the client had of them;
	// after one with Cursor and without More, events follow.
	Snapshot = "SNAPSHOT"
	// EventsMessage has what changed, in an order in which it may have come about.
	EventsMessage = "EVENTS"
	// Bookmark is sent if nothing else has changed up to Cursor, and after the events since the
	// cursor of a subscription.
	Bookmark = "BOOKMARK"
	// Reset is sent if the cursor cannot be used, with the reason: the client forgets all objects
	// of the subscription, and a snapshot of all of them follows.
	Reset = "RESET"
	// ErrorMessage has a problem; the subscription is not, or no longer, there.
	ErrorMessage = "ERROR"
	// Pong answers a ping.
	Pong = "PONG"
)

// Message is the server's message on the watch.
type Message struct {
	Type    string   `json:"type"`
	ID      string   `json:"id,omitempty"`
	Objects []Object `json:"objects,omitempty"`
	Events  []Event  `json:"events,omitempty"`
	// Cursor is opaque. It is where to resume once this message has been processed: behind it,
	// or, of a message that others follow at once, before the first of these.
	Cursor  string   `json:"cursor,omitempty"`
	More    bool     `json:"more,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
}

// Object is an object with its kind.
type Object struct {
	Kind Kind `json:"kind"`
	// Object is a Testbed, TestbedSlots, Job or Scheduling.
	Object json.RawMessage `json:"object"`
}

// Decode returns the object as the type of its kind.
func (o Object) Decode() (Resource, error) {
	switch o.Kind {
	case Testbeds:
		return decodeAs[Testbed](o.Object)
	case Slots:
		return decodeAs[TestbedSlots](o.Object)
	case Jobs:
		return decodeAs[Job](o.Object)
	case Schedulings:
		return decodeAs[Scheduling](o.Object)
	}
	return nil, fmt.Errorf("there are no objects of kind %q", o.Kind)
}

func decodeAs[T Resource](data []byte) (Resource, error) {
	var object T
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, fmt.Errorf("an object of %s: %w", object.ObjectKind(), err)
	}
	return object, nil
}

// Types of an [Event]. Between two events an object may have changed more than once: the newest
// state is sent. An object that was deleted and created again under its name has an event for each,
// with two UIDs. Objects of the kind [Slots] may be partial; see [TestbedSlots].
const (
	Added    = "ADDED"
	Modified = "MODIFIED"
	// Deleted has the object as it was last.
	Deleted = "DELETED"
)

// Event is a change of an object.
type Event struct {
	Type string `json:"type"`
	Object
}

// Codes with which the server closes a watch, beside WebSocket's own.
const (
	// CloseUnauthorized: the token has ended.
	CloseUnauthorized = 4401
	// CloseForbidden: the right to see what is watched was lost.
	CloseForbidden = 4403
	// CloseSlow: the client has not read for too long.
	CloseSlow = 4408
	// CloseTooMany: too many connections.
	CloseTooMany = 4429
)
