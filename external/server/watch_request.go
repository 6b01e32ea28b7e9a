package server

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
)

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
	switch r.Op {
	case wire.OpPing:
		return r, nil
	case wire.OpUnsubscribe, wire.OpSubscribe:
	default:
		return r, invalidRequest("op", wire.Unsupported, "must be subscribe, unsubscribe or ping")
	}
	if r.ID == "" {
		return r, invalidRequest("id", wire.Required, "must be given")
	}
	if r.Op == wire.OpUnsubscribe {
		return r, nil
	}
	if len(r.Kinds) == 0 {
		return r, invalidRequest("kinds", wire.Required, "must have one or more")
	}
	for i, kind := range r.Kinds {
		field := fmt.Sprintf("kinds[%d]", i)
		switch kind {
		case wire.Testbeds, wire.Slots, wire.Jobs, wire.Schedulings:
		default:
			return r, invalidRequest(field, wire.Unsupported, "must be testbeds, slots, jobs or schedulings")
		}
		if slices.Contains(r.Kinds[:i], kind) {
			return r, invalidRequest(field, wire.Duplicate, "is there already")
		}
	}
	if r.Namespace != "" && !wire.ValidNamespace(r.Namespace) {
		return r, invalidRequest("namespace", wire.Invalid, "must be a namespace's name")
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
