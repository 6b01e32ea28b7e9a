package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// Refuse makes a problem of the status; detail is for the caller to read.
func Refuse(status int, detail string, causes ...wire.Cause) *wire.Problem {
	return &wire.Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Causes: causes}
}

// RefuseForNow is Refuse of what is worth trying again after so many seconds.
func RefuseForNow(status, seconds int, detail string) *wire.Problem {
	p := Refuse(status, detail)
	p.RetryAfterSeconds = seconds
	return p
}

// problemOf returns the problem that err is. Other errors are faults of the server, whose text a
// caller does not get.
func problemOf(err error) *wire.Problem {
	var p *wire.Problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, context.DeadlineExceeded):
		return RefuseForNow(http.StatusServiceUnavailable, 1, "The answer took too long.")
	case errors.Is(err, context.Canceled): // the caller has gone
		return RefuseForNow(http.StatusServiceUnavailable, 1, "The request was given up.")
	}
	return Refuse(http.StatusInternalServerError, "The server failed. Its log says why.")
}

// writeProblem answers with the problem.
func writeProblem(w http.ResponseWriter, p *wire.Problem) {
	header := w.Header()
	header.Del("ETag")
	header.Del("Location")
	header.Set("Content-Type", wire.ProblemType)
	if p.RetryAfterSeconds > 0 {
		header.Set("Retry-After", strconv.Itoa(p.RetryAfterSeconds))
	}
	if p.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="spazio-external"`)
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // it fails if the caller has gone
}

// Forbid is the problem of a caller without the right.
func Forbid(caller Caller, access Access) *wire.Problem {
	what := string(access.Kind)
	if access.External {
		what += "/external"
	}
	where := "in all namespaces"
	if access.Namespace != "" {
		where = "in namespace " + access.Namespace
	}
	return Refuse(http.StatusForbidden, fmt.Sprintf("%s may not %s %s %s.", caller.Name, access.Verb, what, where))
}
