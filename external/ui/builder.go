package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// entry is a row of the builder: a job with how many slots it gets from the queue, or with
// the slots that it gets.
type entry struct {
	Job, Times, Slots string
	Problem           string
}

// draft is a scheduling as it is being put together: what the form has, word by word.
type draft struct {
	fields  url.Values
	Entries []entry
}

// Text is what a field of the form has.
func (d *draft) Text(field string) string { return strings.TrimSpace(d.fields.Get(field)) }

// BySlots reports whether jobs get the slots that are named, not the next ones of a queue.
func (d *draft) BySlots() bool { return d.Text("form") == "slots" }

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
func (v *builderView) Row(i int, e entry) builderRow {
	row := builderRow{I: i, Entry: e}
	if len(v.Jobs)*(len(v.Entries)+1) <= mostChoices {
		row.Jobs = v.Jobs
	}
	return row
}

// build shows the form, filled in by the query.
func (s *site) build(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	d := draft{fields: url.Values{"name": {"manual-" + s.config.now().UTC().Format("20060102-150405")}, "priority": {"0"}}}
	for _, field := range []string{"namespace", "testbed", "form"} {
		d.fields.Set(field, query.Get(field))
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

// readDraft takes the form as it is, with as many rows as a scheduling may have jobs. A row
// without a job, and of which nothing else is filled in either, is none.
func readDraft(form url.Values) draft {
	d := draft{fields: form}
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
	bed, _, ok := strings.Cut(d.Text("testbed"), "/")
	if !ok {
		bed = ""
	}
	return cmp.Or(d.Text("namespace"), bed, "default")
}

// scheduling reads the form. The causes are what a request cannot express.
func (d *draft) scheduling() (wire.Scheduling, []wire.Cause) {
	var causes []wire.Cause
	number := func(text, field, message string, least int64) int32 {
		n, err := strconv.ParseInt(cmp.Or(text, "0"), 10, 32)
		if err != nil || n < least {
			causes = append(causes, wire.Cause{Field: field, Reason: wire.Invalid, Message: message})
		}
		return int32(n)
	}
	spec := wire.SchedulingSpec{
		Testbed: d.Text("testbed"), Exclusive: d.Text("exclusive") != "", Confirm: wire.ConfirmNone, OnFailure: wire.Continue,
		Priority: number(d.Text("priority"), "priority", "must be a whole number", math.MinInt32),
	}
	if d.Text("confirm") != "" {
		spec.Confirm = wire.ConfirmEach
	}
	if d.Text("stop") != "" {
		spec.OnFailure = wire.Stop
	}
	if text := d.Text("ttl"); text != "" {
		ttl := number(text, "ttlSecondsAfterFinished", "must be a whole number of seconds, not negative", 0)
		spec.TTLSecondsAfterFinished = &ttl
	}
	if d.BySlots() {
		spec.Slots = &wire.SlotBased{Mode: d.Text("mode")}
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
	return wire.Scheduling{Meta: wire.Meta{Name: d.Text("name"), Namespace: d.namespace()}, SchedulingSpec: spec}, causes
}

// maxRefs bounds the slots of all rows, each of which costs many times its words: so many
// values are taken at most.
const maxRefs = wire.MaxValues

// addTo adds the row to the spec. A row adds no more than a scheduling may have, in
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

// parseRefs reads slots: IDs, indices and ranges of indices, 0-3, between blanks or commas.
func parseRefs(text string) ([]slot.Ref, error) {
	var refs []slot.Ref
	tooMany := fmt.Errorf("a job must have at most %d slots", wire.MaxJobSlots)
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' || unicode.IsSpace(c) }) {
		first, last, isRange := strings.Cut(word, "-")
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		ref, err := slot.ParseRef(word)
		switch {
		case !isRange || err1 != nil || err2 != nil:
			if err != nil {
				return nil, fmt.Errorf("slot %q must be an index, a range of indices or NODE/POSITION", word)
			}
			refs = append(refs, ref)
		case from > to || to >= slot.MaxSlots:
			return nil, fmt.Errorf("slots %q must go from the lower index to the higher, which is below %d", word, slot.MaxSlots)
		case len(refs)+to-from >= wire.MaxJobSlots:
			return nil, tooMany
		default:
			for i := from; i <= to; i++ {
				refs = append(refs, slot.Ref{Index: i})
			}
		}
		if len(refs) > wire.MaxJobSlots {
			return nil, tooMany
		}
	}
	return refs, nil
}

func (s *site) create(w http.ResponseWriter, r *http.Request, d draft) {
	sched, causes := d.scheduling()
	var err error
	if len(causes) > 0 {
		err = &wire.Problem{Title: "Not complete", Status: http.StatusUnprocessableEntity, Detail: "The form cannot be sent yet.", Causes: causes}
	} else {
		_, _, err = s.api(r).CreateScheduling(r.Context(), sched.Namespace, sched.Name, sched.SchedulingSpec)
	}
	if err != nil {
		s.showBuilder(w, r, problemOf(err).Status, d, nil, err)
		return
	}
	redirect(w, r, href(wire.Schedulings, key(sched)), "created")
}

// showBuilder answers with the form, its plan and, if err is not nil, what was refused.
func (s *site) showBuilder(w http.ResponseWriter, r *http.Request, status int, d draft, plan *planView, err error) {
	if s.toLogin(w, r, err) {
		return
	}
	v := builderView{draft: d, Plan: plan, NoEntry: entry{Times: "1"}}
	if s.toLogin(w, r, v.choices(r.Context(), s.api(r), r.URL.Query().Get("namespace"))) {
		return
	}
	if bed := v.Text("testbed"); bed != "" {
		v.Grid = s.gridOf(r, bed)
	}
	var problem *problemView
	if err != nil {
		problem = s.problem(r, "Create the scheduling", err)
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
	s.show(w, r, status, page{Name: "build", Title: "New scheduling", Problem: problem, Body: &v})
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
func (v *builderView) choices(ctx context.Context, ask *client.Client, namespace string) error {
	var noTestbeds, noJobs error
	if v.Testbeds, noTestbeds = client.Collect(ask.Testbeds(ctx, namespace)); noTestbeds != nil {
		v.Unlisted = append(v.Unlisted, "test beds")
	}
	if v.Jobs, noJobs = client.Collect(ask.Jobs(ctx, namespace)); noJobs != nil {
		v.Unlisted = append(v.Unlisted, "jobs")
	}
	if v.Text("testbed") == "" && len(v.Testbeds) > 0 {
		v.fields.Set("testbed", key(v.Testbeds[0]))
	}
	v.Entries = slices.Clone(v.Entries)
	return errors.Join(noTestbeds, noJobs)
}

// gridOf returns the slots of a test bed, nil if they cannot be shown.
func (s *site) gridOf(r *http.Request, name string) *gridView {
	namespace, short, _ := strings.Cut(name, "/")
	t, err := s.api(r).Testbed(r.Context(), namespace, short)
	if err != nil {
		return nil
	}
	g := newGrid(t)
	return &g
}
