package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/wire"
)

// jobView is a job with what outside programs keep in it as it is edited, and the version that
// was read.
type jobView struct {
	wire.Job
	Data, Version string
}

// read reads the object that a page is about, or answers why it cannot be shown.
func read[T any](s *site, w http.ResponseWriter, r *http.Request, what string,
	get func(_ *client.Client, _ context.Context, namespace, name string) (T, error)) (T, bool) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	object, err := get(s.api(r), r.Context(), namespace, name)
	if err != nil {
		s.refuse(w, r, what+namespace+"/"+name, err)
	}
	return object, err == nil
}

// indented is JSON as it is edited. What is nested too deep stays as it is, since indenting
// it takes quadratic room.
func indented(data json.RawMessage) string {
	var b bytes.Buffer
	if len(data) == 0 {
		return "{}"
	}
	if wire.Check(data) != nil || json.Indent(&b, data, "", "  ") != nil {
		return string(data)
	}
	return b.String()
}

func (s *site) job(w http.ResponseWriter, r *http.Request) {
	if j, ok := read(s, w, r, "Show the job ", (*client.Client).Job); ok {
		s.show(w, r, http.StatusOK, page{Name: "job", Title: "Job " + key(j), Body: jobView{j, indented(j.External), j.ResourceVersion}})
	}
}

// saveExternal writes what outside programs keep in the job, unless somebody has since the
// page was read. What is refused stays in the form.
func (s *site) saveExternal(w http.ResponseWriter, r *http.Request) {
	if !s.parseForm(w, r) {
		return
	}
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	text, version := r.PostFormValue("external"), r.PostFormValue("version")
	err := s.putExternal(r, namespace, name, text, version)
	if err == nil {
		redirect(w, r, href(wire.Jobs, namespace+"/"+name), "saved")
		return
	}
	if s.toLogin(w, r, err) {
		return
	}
	p := s.problem(r, "Save the data", err)
	j, ok := read(s, w, r, "Show the job ", (*client.Client).Job)
	if !ok {
		return
	}
	if p.Status == http.StatusPreconditionFailed {
		// A person who has seen the notice may write over the other's change.
		p.Detail = "The job has changed since you read it. Save again to put this in the place of what is there now."
		version = j.ResourceVersion
	}
	s.show(w, r, p.Status, page{Name: "job", Title: "Job " + key(j), Problem: p, Body: jobView{j, text, version}})
}

func (s *site) putExternal(r *http.Request, namespace, name, text, version string) error {
	var bad *wire.MalformedError
	if errors.As(wire.Check([]byte(text)), &bad) {
		bad.Cause.Field = strings.TrimSuffix("externalScheduler."+bad.Cause.Field, ".")
		return &wire.Problem{Title: "Not JSON", Status: http.StatusUnprocessableEntity, Detail: "The data must be a JSON object.", Causes: []wire.Cause{bad.Cause}}
	}
	_, err := s.api(r).SetExternal(r.Context(), namespace, name, version, json.RawMessage(text))
	return err
}
