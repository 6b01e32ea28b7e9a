package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Forms of a scheduling, as the form has them.
const (
	byQueue = "queue"
	bySlots = "slots"
)

// entry is a row of the builder: a job with how many slots it gets from the queue, or with
// the slots that it gets.
type entry struct {
	Job, Times, Slots string
	Problem           string
}

// draft is a scheduling as it is being put together: what the form has, word by word.
type draft struct {
	Namespace, Name, Testbed    string
	Form, Mode                  string
	Priority, TTL               string
	Exclusive                   bool
	ConfirmEach, StopsOnFailure bool
	Entries                     []entry
}

// builderView is the form beside what it may name and what it would lead to.
type builderView struct {
	draft
	Testbeds []wire.Testbed
	Jobs     []wire.Job
	// Unlisted are the kinds whose names must be typed, as the caller may not list them.
	Unlisted []string
	Grid     *gridView
	Plan     *planView
	NoEntry  entry
}

// builderRow is a row of the form as its template wants it.
type builderRow struct {
	I     int
	Entry entry
	Jobs  []wire.Job
}

// mostChoices bounds the jobs that a page offers, those of all rows together; where there
// are more, names are typed.
const mostChoices = 20_000

// Row is a row of the form.
func (v builderView) Row(i int, e entry) builderRow {
	row := builderRow{I: i, Entry: e}
	if len(v.Jobs)*(len(v.Entries)+1) <= mostChoices {
		row.Jobs = v.Jobs
	}
	return row
}

// planView is a plan, or why there is none, by the form's rows.
type planView struct {
	Summary  string        `json:"summary"`
	Feasible bool          `json:"feasible"`
	Problems []planProblem `json:"problems"`
	Rows     []planRow     `json:"rows"`
}

// planProblem is a cause at a row, counted from 0, or at none: -1.
type planProblem struct {
	Entry   int    `json:"entry"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

type planRow struct {
	Entry int      `json:"entry"`
	Job   string   `json:"job"`
	Slots []string `json:"slots"`
	Now   bool     `json:"now"`
}

// List is the slots in words.
func (r planRow) List() string { return strings.Join(r.Slots, " ") }

// build shows the form, filled in by the query.
func (s *site) build(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	d := draft{
		Namespace: query.Get("namespace"), Testbed: query.Get("testbed"), Form: byQueue, Mode: wire.Strict,
		Name: "manual-" + s.config.Now().UTC().Format("20060102-150405"), Priority: "0",
	}
	if query.Get("form") == bySlots {
		d.Form = bySlots
	}
	for _, job := range query["job"] {
		d.Entries = append(d.Entries, entry{Job: job, Times: "1"})
	}
	s.showBuilder(w, r, http.StatusOK, d, nil, nil)
}

// submit does what the button says: it changes the form, shows its plan or creates the
// scheduling.
func (s *site) submit(w http.ResponseWriter, r *http.Request) {
	if !s.parseForm(w, r) {
		return
	}
	d := readDraft(r.PostForm)
	op, at, _ := strings.Cut(r.PostFormValue("op"), ":")
	switch op {
	case "create":
		s.create(w, r, d)
	case "plan":
		s.plan(w, r, d)
	default:
		row, err := strconv.Atoi(at)
		if err != nil {
			row = -1
		}
		d.Entries = rearranged(d.Entries, op, row)
		s.showBuilder(w, r, http.StatusOK, d, nil, nil)
	}
}

// maxForm is the longest form in bytes.
const maxForm = 1 << 20

// parseForm reads the form, or answers why it cannot.
func (s *site) parseForm(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseForm()
	if err == nil {
		return true
	}
	p := &wire.Problem{Title: "Malformed form", Status: http.StatusBadRequest, Detail: "The form cannot be read."}
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		p = &wire.Problem{Title: "Too long", Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("The form has more than %d bytes.", maxForm)}
	}
	s.refuse(w, r, "Read the form", p)
	return false
}

// readDraft takes the form as it is, with as many rows as a scheduling may have jobs. A row without a job, and of which nothing else is
// filled in either, is none.
func readDraft(form url.Values) draft {
	d := draft{
		Namespace: strings.TrimSpace(form.Get("namespace")), Name: strings.TrimSpace(form.Get("name")), Testbed: strings.TrimSpace(form.Get("testbed")),
		Form: form.Get("form"), Mode: form.Get("mode"), Priority: form.Get("priority"), TTL: strings.TrimSpace(form.Get("ttl")),
		Exclusive: form.Get("exclusive") != "", ConfirmEach: form.Get("confirm") != "", StopsOnFailure: form.Get("stop") != "",
	}
	if d.Form != bySlots {
		d.Form = byQueue
	}
	at := func(name string, i int) string {
		if values := form[name]; i < len(values) {
			return strings.TrimSpace(values[i])
		}
		return ""
	}
	for i := range form["job"][:min(len(form["job"]), wire.MaxSlotJobs)] {
		d.Entries = append(d.Entries, entry{Job: at("job", i), Times: at("times", i), Slots: at("slots", i)})
	}
	return d
}

// rearranged returns the rows after a button among them was used.
func rearranged(entries []entry, op string, row int) []entry {
	entries = slices.Clone(entries)
	has := row >= 0 && row < len(entries)
	switch {
	case op == "add":
		entries = append(entries, entry{Times: "1"})
	case op == "up" && has && row > 0:
		entries[row-1], entries[row] = entries[row], entries[row-1]
	case op == "down" && has && row+1 < len(entries):
		entries[row+1], entries[row] = entries[row], entries[row+1]
	case op == "drop" && has:
		entries = slices.Delete(entries, row, row+1)
	}
	return entries
}

// namespace is that of the scheduling: the one filled in, else the test bed's.
func (d *draft) namespace() string {
	if d.Namespace != "" {
		return d.Namespace
	}
	namespace, _, ok := strings.Cut(d.Testbed, "/")
	if !ok {
		return "default"
	}
	return namespace
}

// scheduling reads the form. What a request cannot say is told by its causes.
func (d *draft) scheduling() (wire.Scheduling, []wire.Cause) {
	var causes []wire.Cause
	spec := wire.SchedulingSpec{Testbed: d.Testbed, Exclusive: d.Exclusive, Confirm: wire.ConfirmNone, OnFailure: wire.Continue}
	if d.ConfirmEach {
		spec.Confirm = wire.ConfirmEach
	}
	if d.StopsOnFailure {
		spec.OnFailure = wire.Stop
	}
	if d.Priority != "" {
		n, err := strconv.ParseInt(d.Priority, 10, 32)
		if err != nil {
			causes = append(causes, wire.Cause{Field: "priority", Reason: wire.Invalid, Message: "must be a whole number"})
		}
		spec.Priority = int32(n)
	}
	if d.TTL != "" {
		n, err := strconv.ParseInt(d.TTL, 10, 32)
		if err != nil || n < 0 {
			causes = append(causes, wire.Cause{Field: "ttlSecondsAfterFinished", Reason: wire.Invalid, Message: "must be a whole number of seconds, not negative"})
		}
		ttl := int32(n)
		spec.TTLSecondsAfterFinished = &ttl
	}
	if d.Form == bySlots {
		spec.Slots = &wire.SlotBased{Mode: d.Mode}
	}
	for i, e := range d.Entries {
		if e.Job == "" && e.Slots == "" {
			continue
		}
		if cause := e.addTo(&spec, fmt.Sprintf("entries[%d]", i)); cause != nil {
			causes = append(causes, *cause)
		}
		if len(causes) >= wire.MaxCauses {
			break
		}
	}
	return wire.Scheduling{Meta: wire.Meta{Name: d.Name, Namespace: d.namespace()}, SchedulingSpec: spec}, causes
}

// maxRefs bounds the slots of all rows, each of which costs many times its words: so many
// values are taken at most.
const maxRefs = wire.MaxValues

// addTo adds what the row says to the spec. A row adds no more than a scheduling may have, in
// all.
func (e *entry) addTo(spec *wire.SchedulingSpec, field string) *wire.Cause {
	const longest = 63 + 1 + 253 // NAMESPACE/NAME
	if len(e.Job) > longest {
		return &wire.Cause{Field: field, Reason: wire.Invalid, Message: fmt.Sprintf("a job's name must have at most %d characters", longest)}
	}
	if spec.Slots != nil {
		refs, err := parseRefs(e.Slots)
		if err != nil {
			return &wire.Cause{Field: field, Reason: wire.Invalid, Message: err.Error()}
		}
		all := len(refs)
		for _, job := range spec.Slots.Jobs {
			all += len(job.Slots)
		}
		if all > maxRefs || len(spec.Slots.Jobs) >= wire.MaxSlotJobs {
			return &wire.Cause{Field: field, Reason: wire.TooMany, Message: fmt.Sprintf("all rows must have at most %d jobs and %d slots", wire.MaxSlotJobs, maxRefs)}
		}
		spec.Slots.Jobs = append(spec.Slots.Jobs, wire.SlotJob{Job: e.Job, Slots: refs})
		return nil
	}
	times, err := strconv.Atoi(e.Times)
	if err != nil || times < 1 || times > wire.MaxQueue-len(spec.Queue) {
		return &wire.Cause{Field: field, Reason: wire.Invalid, Message: fmt.Sprintf("number of slots must be 1 to %d, that of all rows together too", wire.MaxQueue)}
	}
	spec.Queue = append(spec.Queue, slices.Repeat([]string{e.Job}, times)...)
	return nil
}

var errTooManySlots = fmt.Errorf("a job must have at most %d slots", wire.MaxJobSlots)

// parseRefs reads slots: IDs, indices and ranges of indices, 0-3, between blanks or commas.
func parseRefs(text string) ([]slot.Ref, error) {
	var refs []slot.Ref
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == ',' || c == '\n' || c == '\r' || c == '\t' }) {
		first, last, isRange := strings.Cut(word, "-")
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if isRange && err1 == nil && err2 == nil {
			if from > to || to >= slot.MaxSlots {
				return nil, fmt.Errorf("slots %q must go from the lower index to the higher, which is below %d", word, slot.MaxSlots)
			}
			if len(refs)+to-from >= wire.MaxJobSlots {
				return nil, errTooManySlots
			}
			for i := from; i <= to; i++ {
				refs = append(refs, slot.Ref{Index: i})
			}
			continue
		}
		ref, err := slot.ParseRef(word)
		if err != nil {
			return nil, fmt.Errorf("slot %q must be an index, a range of indices or NODE/POSITION", word)
		}
		if refs = append(refs, ref); len(refs) > wire.MaxJobSlots {
			return nil, errTooManySlots
		}
	}
	return refs, nil
}

// entryOf finds the row that a field of the scheduling, or of entries, comes from.
func (d *draft) entryOf(field string) int {
	base, rest, ok := strings.Cut(field, "[")
	number, _, closed := strings.Cut(rest, "]")
	n, err := strconv.Atoi(number)
	if !ok || !closed || err != nil {
		return -1
	}
	if base == "entries" {
		return n
	}
	for i, e := range d.Entries {
		width := 1
		switch {
		case e.Job == "" && e.Slots == "":
			continue
		case base == "queue":
			width, _ = strconv.Atoi(e.Times)
		case base != "slots.jobs":
			return -1
		}
		if n < width {
			return i
		}
		n -= width
	}
	return -1
}

// rowOf finds the row of a job.
func (d *draft) rowOf(job string) int {
	return slices.IndexFunc(d.Entries, func(e entry) bool {
		return e.Job == job || d.namespace()+"/"+e.Job == job
	})
}

// ask asks for the plan of the form. The error is nil where the answer is that there is none.
func (s *site) ask(r *http.Request, d *draft) (*planView, error) {
	sched, causes := d.scheduling()
	if len(causes) > 0 {
		return d.unplannable("The form cannot be sent yet.", causes), nil
	}
	var plan wire.Plan
	path := "/namespaces/" + url.PathEscape(sched.Namespace) + "/schedulings?dryRun=All"
	_, err := s.api(r).call(http.MethodPost, path, nil, sched, &plan)
	if p := problemOf(err); err != nil && p.Status == http.StatusUnprocessableEntity {
		return d.unplannable(p.Detail, p.Causes), nil
	}
	if err != nil {
		return nil, err
	}
	return d.planned(&plan), nil
}

func (d *draft) unplannable(summary string, causes []wire.Cause) *planView {
	v := &planView{Summary: orElse(summary, "This is not possible."), Problems: []planProblem{}, Rows: []planRow{}}
	for _, c := range causes {
		v.Problems = append(v.Problems, planProblem{Entry: d.entryOf(c.Field), Field: c.Field, Message: c.Message})
	}
	return v
}

func (d *draft) planned(plan *wire.Plan) *planView {
	v := d.unplannable("", plan.Problems)
	v.Feasible = plan.Feasible
	now := 0
	for _, p := range plan.Plan {
		v.Rows = append(v.Rows, planRow{Entry: d.rowOf(p.Job), Job: p.Job, Slots: p.Slots, Now: p.Now})
		if p.Now {
			now++
		}
	}
	switch {
	case !plan.Feasible:
		v.Summary = "It can never run like this."
	case now == len(plan.Plan) && now == 1:
		v.Summary = "The job would start at once."
	case now == len(plan.Plan):
		v.Summary = fmt.Sprintf("All %d jobs would start at once.", now)
	default:
		v.Summary = fmt.Sprintf("%d of %s would start at once; the others wait for slots.", now, plural(len(plan.Plan), "job", "jobs"))
	}
	return v
}

// plan answers with the form and its plan, or with the plan alone as JSON.
func (s *site) plan(w http.ResponseWriter, r *http.Request, d draft) {
	plan, err := s.ask(r, &d)
	if r.Header.Get("Accept") != "application/json" {
		s.showBuilder(w, r, http.StatusOK, d, plan, err)
		return
	}
	var answer any = plan
	status := http.StatusOK
	if err != nil {
		p := s.judge(r, err)
		answer, status = p, p.Status
	}
	text, err := json.Marshal(answer)
	if err != nil {
		s.config.Logger.Error("a plan cannot be written as JSON", "error", err)
		text, status = []byte("{}"), http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the caller may have gone
}

func (s *site) create(w http.ResponseWriter, r *http.Request, d draft) {
	sched, causes := d.scheduling()
	var err error
	if len(causes) > 0 {
		err = &wire.Problem{Title: "Not complete", Status: http.StatusUnprocessableEntity, Detail: "The form cannot be sent yet.", Causes: causes}
	} else {
		_, err = s.api(r).call(http.MethodPost, "/namespaces/"+url.PathEscape(sched.Namespace)+"/schedulings", nil, sched, nil)
	}
	if err != nil {
		s.showBuilder(w, r, problemOf(err).Status, d, nil, err)
		return
	}
	redirect(w, r, objectHref(wire.Schedulings, sched.Namespace, sched.Name), "created")
}

// showBuilder answers with the form, its plan and, if err is not nil, what was refused.
func (s *site) showBuilder(w http.ResponseWriter, r *http.Request, status int, d draft, plan *planView, err error) {
	if s.toLogin(w, r, err) {
		return
	}
	v := builderView{draft: d, Plan: plan, NoEntry: entry{Times: "1"}}
	if s.toLogin(w, r, v.choices(s.api(r), r.URL.Query().Get("namespace"))) {
		return
	}
	if v.Testbed != "" {
		v.Grid = s.gridOf(r, v.Testbed)
	}
	var problem *problemView
	if err != nil {
		problem = &problemView{What: "Create the scheduling", Problem: s.judge(r, err)}
		for _, c := range problem.Causes {
			v.at(d.entryOf(c.Field), c.Message)
		}
	}
	if plan != nil {
		for _, p := range plan.Problems {
			v.at(p.Entry, p.Message)
		}
	}
	if len(v.Entries) == 0 {
		v.Entries = []entry{v.NoEntry}
	}
	s.show(w, r, status, page{Name: "build", Title: "New scheduling", Problem: problem, Body: v})
}

// at notes a problem at a row.
func (v *builderView) at(row int, message string) {
	if row < 0 || row >= len(v.Entries) {
		return
	}
	if old := v.Entries[row].Problem; old != "" {
		message = old + "; " + message
	}
	v.Entries[row].Problem = message
}

// choices fills in what the form may name, as far as the caller may see it. The error says
// of what not, and why; names can be typed all the same.
func (v *builderView) choices(ask api, namespace string) error {
	var noTestbeds, noJobs error
	if v.Testbeds, noTestbeds = list[wire.Testbed](ask, wire.Testbeds, namespace); noTestbeds != nil {
		v.Unlisted = append(v.Unlisted, "test beds")
	}
	if v.Jobs, noJobs = list[wire.Job](ask, wire.Jobs, namespace); noJobs != nil {
		v.Unlisted = append(v.Unlisted, "jobs")
	}
	if v.Testbed == "" && len(v.Testbeds) > 0 {
		v.Testbed = v.Testbeds[0].Namespace + "/" + v.Testbeds[0].Name
	}
	v.Entries = slices.Clone(v.Entries)
	return errors.Join(noTestbeds, noJobs)
}

// gridOf returns the slots of a test bed, nil if they cannot be shown.
func (s *site) gridOf(r *http.Request, name string) *gridView {
	namespace, short, ok := strings.Cut(name, "/")
	var t wire.Testbed
	if !ok || s.api(r).get(objectPath(wire.Testbeds, namespace, short)+"?slots=true", &t) != nil {
		return nil
	}
	g := newGrid(t)
	return &g
}
