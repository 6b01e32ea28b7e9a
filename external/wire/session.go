package wire

import "time"

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
