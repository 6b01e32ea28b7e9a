package ui

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// loginView is the form that takes a token.
type loginView struct {
	Next, Hint string
}

func (s *site) login(w http.ResponseWriter, r *http.Request) {
	s.showLogin(w, r, http.StatusOK, r.URL.Query().Get("next"), nil)
}

func (s *site) showLogin(w http.ResponseWriter, r *http.Request, status int, next string, problem *problemView) {
	s.show(w, r, status, page{Name: "login", Title: "Log in", Problem: problem,
		Body: loginView{Next: within(next), Hint: s.config.LoginHint}})
}

// logIn exchanges the token for a session, whose cookie is the interface's.
func (s *site) logIn(w http.ResponseWriter, r *http.Request) {
	if !s.parseForm(w, r) {
		return
	}
	next := within(r.PostFormValue("next"))
	token := strings.TrimSpace(r.PostFormValue("token"))
	if token == "" {
		s.showLogin(w, r, http.StatusUnprocessableEntity, next, &problemView{What: "Log in", Problem: &wire.Problem{
			Title: "No token", Status: http.StatusUnprocessableEntity, Detail: "Enter a token.",
		}})
		return
	}
	header, err := s.api(r).call(http.MethodPost, "/session", nil, wire.Login{Token: token}, nil)
	if err != nil {
		p := s.judge(r, err)
		s.showLogin(w, r, p.Status, next, &problemView{What: "Log in", Problem: p})
		return
	}
	keepCookies(w, header)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (s *site) logOut(w http.ResponseWriter, r *http.Request) {
	header, err := s.api(r).call(http.MethodDelete, "/session", nil, nil, nil)
	if err != nil && problemOf(err).Status != http.StatusUnauthorized {
		s.refuse(w, r, "Log out", err)
		return
	}
	keepCookies(w, header)
	http.Redirect(w, r, Base+"login", http.StatusSeeOther)
}

// keepCookies hands on the cookies that the interface sets.
func keepCookies(w http.ResponseWriter, header http.Header) {
	for _, cookie := range header.Values("Set-Cookie") {
		w.Header().Add("Set-Cookie", cookie)
	}
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
