package wire

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ProblemType is the media type of a [Problem].
const ProblemType = "application/problem+json"

// Problem is why a request was refused (RFC 9457). It is an error.
type Problem struct {
	// Type is a URI reference that names the kind of problem; "about:blank" for that of
	// the status alone.
	Type   string `json:"type,omitempty"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Causes name fields of the JSON that was sent.
	Causes []Cause `json:"causes,omitempty"`
	// RetryAfterSeconds is when it is worth trying again; 0 is not known.
	RetryAfterSeconds int `json:"retryAfterSeconds,omitempty"`
}

// Cause is one thing that is wrong with a request.
type Cause struct {
	// Field is a path in the JSON that was sent: slots.jobs[2].job.
	Field   string `json:"field,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
}

// IsStatus reports whether the error is a Problem of the status.
func IsStatus(err error, status int) bool {
	var p *Problem
	return errors.As(err, &p) && p.Status == status
}

func (p *Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", p.Status, p.Title)
	if p.Detail != "" {
		b.WriteString(": " + p.Detail)
	}
	for _, c := range p.Causes {
		fmt.Fprintf(&b, "; %s: %s", c.Field, c.Message)
	}
	return b.String()
}

// Login is what POST /session takes.
type Login struct {
	Token string `json:"token"`
}

// Session is the user of a session.
type Session struct {
	User string `json:"user"`
	// Expires is when the token ends, if that is known.
	Expires *time.Time `json:"expires,omitempty"`
}
