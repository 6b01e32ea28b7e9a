package ui

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
)

//go:embed templates
var templateFiles embed.FS

// templates are those of the pages by name, each with the layout around it.
var templates = parseTemplates()

func parseTemplates() map[string]*template.Template {
	base := template.Must(template.New("").Funcs(template.FuncMap{
		"clock": clock, "stamp": stamp, "problemAt": problemAt,
	}).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html"))
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
	User      string // who is logged in
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

// notices say what has been done, by the word that a redirect carries.
var notices = map[string]string{
	"created":  "The scheduling is created.",
	"deleted":  "The scheduling is being deleted: its jobs and slots are released.",
	"released": "The job is being released.",
	"saved":    "The data is saved.",
}

// show answers with a page.
func (s *site) show(w http.ResponseWriter, r *http.Request, status int, p page) {
	p.Static, p.At = filesPath(), s.config.Now().UTC()
	p.Namespace = r.URL.Query().Get("namespace")
	p.Notice = notices[r.URL.Query().Get("done")]
	if p.Name != "login" && p.User == "" {
		var session wire.Session
		// A caller with a token instead of a session has no name here.
		if err := s.api(r).get("/session", &session); err == nil {
			p.User = session.User
		}
	}
	var b bytes.Buffer
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
	p := s.judge(r, err)
	s.show(w, r, p.Status, page{Name: "problem", Title: p.Title, Problem: &problemView{What: what, Problem: p}})
}

// judge returns the problem, and logs it if the server is at fault.
func (s *site) judge(r *http.Request, err error) *wire.Problem {
	p := problemOf(err)
	if p.Status == http.StatusInternalServerError {
		s.config.Logger.Error("page without an answer", "path", r.URL.Path, "error", err)
	}
	return p
}

// toLogin sends whoever has no session to the login, and says whether it did.
func (s *site) toLogin(w http.ResponseWriter, r *http.Request, err error) bool {
	if err == nil || problemOf(err).Status != http.StatusUnauthorized {
		return false
	}
	back := r.URL.RequestURI()
	if r.Method != http.MethodGet {
		back = Base
	}
	http.Redirect(w, r, Base+"login?next="+url.QueryEscape(back), http.StatusSeeOther)
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
	s.refuse(w, r, "Open "+r.URL.Path, &wire.Problem{
		Title: "Not found", Status: http.StatusNotFound, Detail: "There is no such page.",
	})
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

// clock is a time as a person reads it, in UTC, empty for none.
func clock(t any) string { return format(t, "2006-01-02 15:04:05") }

// stamp is a time as a program reads it.
func stamp(t any) string { return format(t, time.RFC3339) }

func format(t any, layout string) string {
	switch t := t.(type) {
	case time.Time:
		return t.UTC().Format(layout)
	case *time.Time:
		if t != nil {
			return t.UTC().Format(layout)
		}
	}
	return ""
}

// span is a duration as a person reads it. The script says it the same way.
func span(d time.Duration) string {
	seconds := max(0, d.Seconds())
	switch whole := int(seconds); {
	case seconds < 10:
		return fmt.Sprintf("%.1f s", seconds)
	case whole < 120:
		return fmt.Sprintf("%d s", whole)
	case whole < 7200:
		return fmt.Sprintf("%d min %d s", whole/60, whole%60)
	default:
		return fmt.Sprintf("%d h %d min", whole/3600, whole%3600/60)
	}
}

// objectHref is the page of an object.
func objectHref(kind wire.Kind, namespace, name string) string {
	return Base + string(kind) + "/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
}

// nameHref is the page of an object NAMESPACE/NAME, empty for none.
func nameHref(kind wire.Kind, name string) string {
	namespace, short, ok := strings.Cut(name, "/")
	if !ok {
		return ""
	}
	return objectHref(kind, namespace, short)
}

// plural says how many there are.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
