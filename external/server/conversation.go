package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// gather is how long after an event others of the same connection wait to go together.
const gather = 20 * time.Millisecond

// conversation is the protocol of /external/v1/watch.
type conversation struct{ *subscriptions }

func newConversation(p *peer) protocol { return conversation{newSubscriptions(p)} }

// read takes in a request; what is wrong with it is an answer.
func (c conversation) read(ctx context.Context, data []byte) error {
	request, err := parseRequest(data)
	if err == nil {
		err = c.peer.watches.server.callers.enter(c.peer.is())
	}
	switch {
	case err != nil:
	case request.Op == wire.OpPing:
		return c.send(wire.Message{Type: wire.Pong, ID: request.ID})
	case request.Op == wire.OpSubscribe:
		err = c.subscribe(ctx, &subscription{id: request.ID}, request)
	case !c.remove(request.ID):
		err = Refuse(http.StatusNotFound, "There is no subscription of this ID.")
	}
	if err != nil {
		return c.send(wire.Message{Type: wire.ErrorMessage, ID: request.ID, Problem: problemOf(err)})
	}
	return nil
}

// write sends what is new, all changes of an instant together.
func (c conversation) write(ctx context.Context) error {
	bookmark := time.NewTicker(c.peer.watches.server.config.Watch.Bookmark)
	defer bookmark.Stop()
	for {
		due := false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-bookmark.C:
			due = true
		case <-c.wake:
		}
		if err := c.sendNews(ctx, due); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(gather):
		}
	}
}

// sendNews sends what is new, a message of each subscription in turn.
func (c conversation) sendNews(ctx context.Context, bookmark bool) error {
	send := func(s *subscription, m wire.Message) error {
		m.ID = s.id
		return c.send(m)
	}
	for more := true; more; {
		var err error
		if more, err = c.turn(send); err != nil || ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
	}
	if !bookmark {
		return nil
	}
	for _, s := range c.current() {
		if err := send(s, s.hub.bookmark()); err != nil {
			return err
		}
	}
	return nil
}

// send writes a message. Both goroutines do.
func (c conversation) send(m wire.Message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	c.peer.watches.sent(&m)
	return c.peer.send(data)
}

// maxSubscriptionID is the longest name of a subscription in bytes.
const maxSubscriptionID = 64

// parseRequest reads a request of the watch. Its error is a *wire.Problem; the ID beside it
// is that of the request, if it could be read.
func parseRequest(data []byte) (wire.Request, error) {
	var r wire.Request
	if err := wire.Decode(data, &r); err != nil {
		return wire.Request{}, malformed(err)
	}
	if len(r.ID) > maxSubscriptionID {
		return wire.Request{}, invalidRequest("id", wire.TooMany, fmt.Sprintf("must have at most %d bytes", maxSubscriptionID))
	}
	switch {
	case r.Op == wire.OpPing:
		return r, nil
	case r.Op != wire.OpSubscribe && r.Op != wire.OpUnsubscribe:
		return r, invalidRequest("op", wire.Unsupported, "must be subscribe, unsubscribe or ping")
	case r.ID == "":
		return r, invalidRequest("id", wire.Required, "must be given")
	case r.Op == wire.OpUnsubscribe:
		return r, nil
	case len(r.Kinds) == 0:
		return r, invalidRequest("kinds", wire.Required, "must have one or more")
	case r.Namespace != "" && !wire.ValidNamespace(r.Namespace):
		return r, invalidRequest("namespace", wire.Invalid, "must be a namespace's name")
	}
	for i, kind := range r.Kinds {
		at := fmt.Sprintf("kinds[%d]", i)
		if !slices.Contains([]wire.Kind{wire.Testbeds, wire.Slots, wire.Jobs, wire.Schedulings}, kind) {
			return r, invalidRequest(at, wire.Unsupported, "must be testbeds, slots, jobs or schedulings")
		}
		if slices.Contains(r.Kinds[:i], kind) {
			return r, invalidRequest(at, wire.Duplicate, "is there already")
		}
	}
	for i, name := range r.Names {
		if !wire.ValidName(name) {
			return r, invalidRequest(fmt.Sprintf("names[%d]", i), wire.Invalid, "must be an object's name")
		}
	}
	return r, nil
}

func invalidRequest(field, reason, message string) error {
	return Refuse(http.StatusUnprocessableEntity, "The request is invalid.", wire.Cause{Field: field, Reason: reason, Message: message})
}
