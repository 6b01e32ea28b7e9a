package ui

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
)

//go:embed templates
var templateFiles embed.FS

// templates are the pages' templates by name, each with the layout around it.
var templates = parseTemplates()

func parseTemplates() map[string]*template.Template {
	base := template.Must(template.New("").Funcs(words).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html"))
	all := make(map[string]*template.Template)
	for _, name := range []string{"build", "confirm", "job", "login", "matrix", "overview", "problem", "scheduling"} {
		all[name] = template.Must(template.Must(base.Clone()).ParseFS(templateFiles, "templates/"+name+".html"))
	}
	return all
}

// page is what the layout shows, around what a page of its own has in Body.
type page struct {
	Name      string // of the template
	Title     string
	Namespace string // which the lists are limited to; empty is all
	Static    string
	User      string // the name of the session's user
	At        time.Time
	Notice    string
	Problem   *problemView
	Body      any
}

// problemView is a problem beside what it kept from being done.
type problemView struct {
	What string
	*wire.Problem
}

// notices are the messages of what has been done, by the word that a redirect carries.
var notices = map[string]string{
	"created":  "The scheduling is created.",
	"deleted":  "The scheduling is being deleted: its jobs and slots are released.",
	"released": "The job is being released.",
	"saved":    "The data is saved.",
}

// show answers with a page.
func (s *site) show(w http.ResponseWriter, r *http.Request, status int, p page) {
	p.Static, p.At = filesPath(), s.config.now().UTC()
	p.Namespace = r.URL.Query().Get("namespace")
	p.Notice = notices[r.URL.Query().Get("done")]
	if p.Name != "login" && p.User == "" {
		if session, err := s.api(r).Session(r.Context()); err == nil {
			p.User = session.User
		}
	}
	var b bytes.Buffer
	b.Grow(1 << 18) // most pages are shorter, and do not grow it
	if err := templates[p.Name].ExecuteTemplate(&b, "layout", p); err != nil {
		s.config.Logger.Error("page not rendered", "page", p.Name, "error", err)
		http.Error(w, "This page cannot be shown.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the caller has gone if it fails
}

// refuse answers what could not be done: without a session with the way to one, else with
// the problem.
func (s *site) refuse(w http.ResponseWriter, r *http.Request, what string, err error) {
	if s.toLogin(w, r, err) {
		return
	}
	p := s.problem(r, what, err)
	s.show(w, r, p.Status, page{Name: "problem", Title: p.Title, Problem: p})
}

// problem is what kept something from being done. It is logged if the server is at fault.
func (s *site) problem(r *http.Request, what string, err error) *problemView {
	p := problemOf(err)
	if p.Status == http.StatusInternalServerError {
		s.config.Logger.Error("page without an answer", "path", r.URL.Path, "error", err)
	}
	return &problemView{What: what, Problem: p}
}

// toLogin redirects a caller without a session to the login, and reports whether it did.
func (s *site) toLogin(w http.ResponseWriter, r *http.Request, err error) bool {
	if err == nil || problemOf(err).Status != http.StatusUnauthorized {
		return false
	}
	back := r.URL.RequestURI()
	if r.Method != http.MethodGet {
		back = base
	}
	http.Redirect(w, r, base+"login?next="+url.QueryEscape(back), http.StatusSeeOther)
	return true
}

// redirect sends a browser on after what it sent was done.
func redirect(w http.ResponseWriter, r *http.Request, to, done string) {
	query := url.Values{"done": {done}}
	if ns := r.URL.Query().Get("namespace"); ns != "" {
		query.Set("namespace", ns)
	}
	http.Redirect(w, r, to+"?"+query.Encode(), http.StatusSeeOther)
}

func (s *site) lost(w http.ResponseWriter, r *http.Request) {
	s.refuse(w, r, "Open "+r.URL.Path, &wire.Problem{Title: "Not found", Status: http.StatusNotFound, Detail: "There is no such page."})
}

// foreign refuses what a page of another origin has sent.
func foreign(w http.ResponseWriter, r *http.Request) {
	http.Error(w, "This was sent by a page of another origin.", http.StatusForbidden)
}

// problemAt returns what is wrong with a field, among the problem's causes.
func problemAt(p *problemView, field string) string {
	if p == nil {
		return ""
	}
	var all []string
	for _, c := range p.Causes {
		if c.Field == field {
			all = append(all, c.Message)
		}
	}
	return strings.Join(all, "; ")
}

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
	http.Redirect(w, r, base+"login", http.StatusSeeOther)
}

// within returns the path and the query, if they are those of a page of ours, else the path
// of the first: a login must not lead anywhere else. A host is left aside.
func within(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Opaque != "" || !strings.HasPrefix(u.Path, base) || strings.Contains(u.Path, "..") || u.Path == base+"login" {
		return base
	}
	return u.RequestURI()
}
