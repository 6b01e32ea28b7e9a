package server

import (
	"fmt"
	"net/http"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
)

func (s *Server) login(c *call) error {
	var login wire.Login
	if err := s.decode(c, wire.Decode, &login); err != nil {
		return err
	}
	if len(login.Token) > maxToken {
		return Refuse(http.StatusUnprocessableEntity, "The token is too long for a session.",
			wire.Cause{Field: "token", Reason: wire.TooMany, Message: fmt.Sprintf("must have at most %d bytes", maxToken)})
	}
	caller, err := s.authenticate(c.r.Context(), login.Token)
	if err != nil {
		return err
	}
	http.SetCookie(c.w, sessionCookie(c.r, login.Token, caller.Expires))
	return c.answer(http.StatusOK, session(caller))
}

func (s *Server) who(c *call) error { return c.answer(http.StatusOK, session(c.caller)) }

func (s *Server) logout(c *call) error {
	http.SetCookie(c.w, sessionCookie(c.r, "", time.Time{}))
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func session(caller Caller) wire.Session {
	is := wire.Session{User: caller.Name}
	if !caller.Expires.IsZero() {
		expires := caller.Expires.UTC()
		is.Expires = &expires
	}
	return is
}
