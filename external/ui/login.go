package ui

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/spazio-scheduler/spazio/external/wire"
)

func (s *site) login(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, http.StatusOK, page{Name: "login", Title: "Log in", Body: within(r.URL.Query().Get("next"))})
}

// logIn exchanges the token for a session, whose cookie is the interface's.
func (s *site) logIn(w http.ResponseWriter, r *http.Request) {
	if !s.parseForm(w, r) {
		return
	}
	next := within(r.PostFormValue("next"))
	token := strings.TrimSpace(r.PostFormValue("token"))
	var err error = &wire.Problem{Title: "No token", Status: http.StatusUnprocessableEntity, Detail: "Enter a token."}
	if token != "" {
		err = s.session(w, r, http.MethodPost, wire.Login{Token: token})
	}
	if err != nil {
		p := s.problem(r, "Log in", err)
		s.show(w, r, p.Status, page{Name: "login", Title: "Log in", Problem: p, Body: next})
		return
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (s *site) logOut(w http.ResponseWriter, r *http.Request) {
	err := s.session(w, r, http.MethodDelete, nil)
	if err != nil && problemOf(err).Status != http.StatusUnauthorized {
		s.refuse(w, r, "Log out", err)
		return
	}
	http.Redirect(w, r, Base+"login", http.StatusSeeOther)
}

// within returns the path and the query, if they are those of a page of ours, else the path
// of the first: a login must not lead anywhere else. A host is left aside.
func within(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Opaque != "" || !strings.HasPrefix(u.Path, Base) || strings.Contains(u.Path, "..") || u.Path == Base+"login" {
		return Base
	}
	return u.RequestURI()
}
