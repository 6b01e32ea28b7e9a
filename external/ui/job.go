package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// jobView is a job with all that is known of it.
type jobView struct {
	jobRow
	Slots      string
	Runs       []runRow
	Conditions []conditionRow
	// External is what outside programs keep in the job, Version what it was read at.
	External, Version string
	NoRun             runRow
	NoCondition       conditionRow
}

func newJobView(j *wire.Job) jobView {
	v := jobView{
		jobRow: newJobRow(j), Runs: runRows(j.Runs), Conditions: conditionRows(j.Conditions),
		External: indented(j.External), Version: j.ResourceVersion,
	}
	if j.CreationRequest != nil {
		v.Slots = strings.Join(j.CreationRequest.Slots, " ")
	}
	return v
}

// indented is JSON as it is edited. What is nested too deep stays as it is, since indenting
// it takes quadratic room.
func indented(data json.RawMessage) string {
	if len(data) == 0 {
		return "{}"
	}
	var b bytes.Buffer
	if wire.Check(data) != nil || json.Indent(&b, data, "", "  ") != nil {
		return string(data)
	}
	return b.String()
}

func (s *site) job(w http.ResponseWriter, r *http.Request) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	var j wire.Job
	if err := s.api(r).get(objectPath(wire.Jobs, namespace, name), &j); err != nil {
		s.refuse(w, r, "Show the job "+namespace+"/"+name, err)
		return
	}
	v := newJobView(&j)
	s.show(w, r, http.StatusOK, page{Name: "job", Title: "Job " + v.Key, Body: v})
}

// saveExternal writes what outside programs keep in the job, unless somebody has since the
// page was read. What is refused stays in the form.
func (s *site) saveExternal(w http.ResponseWriter, r *http.Request) {
	if !s.parseForm(w, r) {
		return
	}
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	text, version := r.PostFormValue("external"), r.PostFormValue("version")
	err := s.putExternal(r, objectPath(wire.Jobs, namespace, name)+"/external", text, version)
	if err == nil {
		redirect(w, r, objectHref(wire.Jobs, namespace, name), "saved")
		return
	}
	if s.toLogin(w, r, err) {
		return
	}
	p := s.judge(r, err)
	var j wire.Job
	if err := s.api(r).get(objectPath(wire.Jobs, namespace, name), &j); err != nil {
		s.refuse(w, r, "Show the job "+namespace+"/"+name, err)
		return
	}
	v := newJobView(&j)
	v.External, v.Version = text, version
	if p.Status == http.StatusPreconditionFailed {
		// Whoever has been told of the other's change may write over it.
		p.Detail = "The job has changed since you read it. Save again to put this in the place of what is there now."
		v.Version = j.ResourceVersion
	}
	s.show(w, r, p.Status, page{Name: "job", Title: "Job " + v.Key, Problem: &problemView{What: "Save the data", Problem: p}, Body: v})
}

func (s *site) putExternal(r *http.Request, path, text, version string) error {
	var bad *wire.MalformedError
	if errors.As(wire.Check([]byte(text)), &bad) {
		return &wire.Problem{Title: "Not JSON", Status: http.StatusUnprocessableEntity, Detail: "The data must be a JSON object.",
			Causes: []wire.Cause{{Field: strings.TrimSuffix("externalScheduler."+bad.Cause.Field, "."), Reason: bad.Cause.Reason, Message: bad.Cause.Message}}}
	}
	header := http.Header{}
	if version != "" {
		header.Set("If-Match", `"`+version+`"`)
	}
	_, err := s.api(r).call(http.MethodPut, path, header, json.RawMessage(text), nil)
	return err
}
