package ui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/ui"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

var clock = time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)

// visitor is a person with a browser that runs no scripts.
type visitor struct {
	t      *testing.T
	bench  *servertest.Bench
	client *http.Client
}

// site starts a server with a test bed of two nodes with two slots, and two jobs.
func site(t *testing.T, edits ...func(*server.Config)) *servertest.Bench {
	t.Helper()
	b := servertest.Start(t, func(c *server.Config) {
		c.UI = func(api http.Handler) http.Handler {
			return ui.Handler(ui.Config{API: api, Logger: slog.New(slog.DiscardHandler)}.WithClock(func() time.Time { return clock }))
		}
		for _, edit := range edits {
			edit(c)
		}
	})
	var slots []wire.Slot
	for i, id := range []string{"n0/0", "n1/0", "n0/1", "n1/1"} {
		rank := i % 2
		slots = append(slots, wire.Slot{ID: id, Index: i, Node: id[:2], NodeID: &rank, Position: i / 2, State: slot.Free})
	}
	slots[3].State, slots[3].ReservedFor, slots[3].PodNamespace, slots[3].Pod = slot.Occupied, "team/b", "team", "b-r1-x"
	b.Store.PutTestbed(wire.Testbed{Meta: wire.Meta{Namespace: "team", Name: "lab"}, Ready: true, Nodes: 2, Slots: slots})
	begin, end := clock.Add(-time.Minute), clock.Add(-26*time.Second)
	b.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: "a"}, Kind: "Job", State: "Ready",
		External: json.RawMessage(`{"profiler":{"b":"24 (16)"}}`),
		Runs:     []wire.Run{{Scheduling: "team/old", Testbed: "team/lab", Slots: []string{"n0/0"}, Attempt: 1, Started: &begin, Finished: &end, Outcome: "Succeeded"}},
		Conditions: []wire.Condition{
			{Type: "Valid", Status: "False", Reason: "SlotTooSmall", Message: "needs 450 MiB", Since: clock},
		}})
	b.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: "b"}, Kind: "SparkApplication", State: "Running", ActiveScheduling: "team/now",
		External: json.RawMessage(`{"profiler":[{"a":{"count":2,"mean":30,"squares":2}}]}`)})
	return b
}

// stale is a Store whose Testbeds' counts are older than their slots.
type stale struct{ server.Store }

func (s stale) Testbed(ctx context.Context, namespace, name string) (wire.Testbed, error) {
	t, err := s.Store.Testbed(ctx, namespace, name)
	t.Counts = wire.Counts{Slots: 77, Free: 77}
	return t, err
}

func (s stale) Testbeds(ctx context.Context, namespace string) ([]wire.Testbed, error) {
	all, err := s.Store.Testbeds(ctx, namespace)
	for i := range all {
		all[i].Counts = wire.Counts{Slots: 77, Free: 77}
	}
	return all, err
}

// Pages and programs count the slots that they show.
func TestCountsAreOfTheSlotsBeside(t *testing.T) {
	b := site(t, func(c *server.Config) { c.Store = stale{c.Store} })
	v := visit(t, b, servertest.Viewer)
	v.get("build?testbed=team/lab", 200).wants(t, `data-count="free">3<`, `data-count="occupied">1<`)
	v.get("", 200).wants(t, `data-count="free">3<`, `data-count="occupied">1<`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL+"/external/v1/namespaces/team/testbeds/lab?slots=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	v.do(r, 200).wants(t, `"slots":4`, `"free":3`, `"occupied":1`)
}

// visit returns a visitor with the token's session from the login form; an empty token gives no
// session.
func visit(t *testing.T, b *servertest.Bench, token string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &visitor{t: t, bench: b, client: &http.Client{Jar: jar}}
	if token != "" {
		if page := v.post("login", url.Values{"token": {token}, "next": {"/ui/matrix"}}, 200); page.path != "/ui/matrix" {
			t.Fatalf("after the login on %s", page.path)
		}
	}
	return v
}

// answer is a page, after redirects.
type answer struct {
	path   string
	query  url.Values
	header http.Header
	body   string
}

func (v *visitor) do(r *http.Request, status int) answer {
	v.t.Helper()
	response, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	if response.StatusCode != status {
		v.t.Fatalf("%s %s: status %d, want %d:\n%s", r.Method, r.URL, response.StatusCode, status, body)
	}
	return answer{path: response.Request.URL.Path, query: response.Request.URL.Query(), header: response.Header, body: string(body)}
}

func (v *visitor) get(path string, status int) answer {
	v.t.Helper()
	r, err := http.NewRequest(http.MethodGet, v.bench.URL+ui.Base+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	return v.do(r, status)
}

func (v *visitor) post(path string, form url.Values, status int) answer {
	v.t.Helper()
	r, err := http.NewRequest(http.MethodPost, v.bench.URL+ui.Base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return v.do(r, status)
}

// wants fails the test unless the page has each text, and none of those that begin with an
// exclamation mark.
func (a answer) wants(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		without, negated := strings.CutPrefix(text, "!")
		if strings.Contains(a.body, without) == negated {
			t.Errorf("%s has it %t: %s\n%s", a.path, negated, without, a.body)
		}
	}
}

// words returns the texts of the elements that a pattern's group finds, without tags.
func (a answer) words(pattern string) []string {
	var all []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(a.body, -1) {
		all = append(all, strings.TrimSpace(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[1], " ")))
	}
	return all
}

func TestOverview(t *testing.T) {
	v := visit(t, site(t), servertest.Viewer)
	v.bench.Store.PutScheduling(wire.Scheduling{Meta: wire.Meta{Namespace: "team", Name: "now"},
		SchedulingSpec: wire.SchedulingSpec{Testbed: "team/lab", Queue: []string{"team/b", "team/a"}, Priority: 7},
		State:          "Submitting", Jobs: []wire.SchedulingJob{{Job: "team/b", State: "Completed"}, {Job: "team/a"}}})
	p := v.get("", 200)
	p.wants(t, "2 nodes, 4 slots", `<b data-count="free">3</b>`, `<b data-count="occupied">1</b>`,
		"1 of 2 jobs ended", "queue of 2 entries", "Succeeded in 34 s", `href="/ui/schedulings/team/now/delete"`, ">viewer<")
	// Cells are ordered node by position, whatever the order of the indices.
	want := []string{"n0/0 free 0", "n0/1 free 2", "n1/0 free 1", "n1/1 occupied b 3"}
	var got []string
	for _, m := range regexp.MustCompile(`data-slot="([^"]*)" data-state="[a-z]*">(.*?)</td>`).FindAllStringSubmatch(p.body, -1) {
		got = append(got, strings.Join(strings.Fields(m[1]+" "+regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[2], " ")), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	v.get("?namespace=other", 200).wants(t, "There is no test bed yet", "!n0/0", `href="/ui/build?namespace=other"`)
}

// A page shows what its caller may see, and names what they may not.
func TestRights(t *testing.T) {
	b := site(t)
	b.Store.PutScheduling(wire.Scheduling{Meta: wire.Meta{Namespace: "team", Name: "now"},
		SchedulingSpec: wire.SchedulingSpec{Testbed: "team/lab", Queue: []string{"team/b"}}})
	jobsOnly := "token-of-jobs-only"
	b.Identities.Add(jobsOnly, servertest.Audience, server.Caller{Name: "jobs-only"},
		servertest.Right{Verbs: []server.Verb{server.Get, server.List}, Kinds: []wire.Kind{wire.Jobs}})
	of := func(token string) *visitor { return visitAnyway(t, b, token) }

	everywhere := []string{"", "build", "matrix", "jobs/team/a", "schedulings/team/now"}
	for _, path := range everywhere {
		if p := of("").get(path, 200); p.path != "/ui/login" || p.query.Get("next") != "/ui/"+path {
			t.Errorf("%q without a session leads to %s, %v", path, p.path, p.query)
		}
		of(servertest.Admin).get(path, 200).wants(t, "!403", "!Forbidden")
	}
	for token, statuses := range map[string][]int{
		servertest.Nothing: {200, 200, 403, 403, 403},
		jobsOnly:           {200, 200, 200, 200, 403},
		servertest.Team:    {200, 200, 403, 200, 200}, // lists are of all namespaces
	} {
		for i, path := range everywhere {
			of(token).get(path, statuses[i])
		}
	}
	of(servertest.Nothing).get("", 200).wants(t, "List test beds:", "List schedulings:", "List jobs:", "!n0/0", "!team/a")
	of(jobsOnly).get("", 200).wants(t, "List test beds:", "List schedulings:", "!List jobs:", "team/a", "!n0/0")
	of(jobsOnly).get("build", 200).wants(t, "You may not list test beds", `name="testbed" value=""`, `value="team/a"`)
	of(servertest.Team).get("?namespace=team", 200).wants(t, "n0/0", "team/a", "team/now", "!List")
	of(servertest.Team).get("matrix?namespace=team", 200).wants(t, "24.0")

	// A caller who may only read changes nothing, by any form.
	viewer := of(servertest.Viewer)
	viewer.post("schedulings/team/now/delete", nil, 403).wants(t, "delete", "schedulings")
	viewer.post("schedulings/team/now/release?job=team/b", nil, 409)
	viewer.post("jobs/team/a", url.Values{"external": {"{}"}}, 403).wants(t, "!Saved")
	viewer.post("build", order("team/lab", "x", "queue", []string{"team/a", "1", ""}), 403).wants(t, "create", `value="x"`)
	if s, err := b.Store.Schedulings(t.Context(), ""); err != nil || len(s) != 1 {
		t.Errorf("%d schedulings, %v", len(s), err)
	}
}

// visitAnyway is visit for a caller who may not see the page that a login leads to.
func visitAnyway(t *testing.T, b *servertest.Bench, token string) *visitor {
	t.Helper()
	v := visit(t, b, "")
	if token == "" {
		return v
	}
	u, _ := url.Parse(b.URL)
	v.client.Jar.SetCookies(u, []*http.Cookie{{Name: "spazio-session", Value: token}})
	return v
}

// order fills in the builder's form; each row is a job, a number of slots, and slots.
func order(testbed, name, form string, rows ...[]string) url.Values {
	f := url.Values{"testbed": {testbed}, "name": {name}, "form": {form}, "mode": {"Strict"}, "priority": {"0"}, "op": {"create"}}
	for _, r := range rows {
		f["job"], f["times"], f["slots"] = append(f["job"], r[0]), append(f["times"], r[1]), append(f["slots"], r[2])
	}
	return f
}

func with(f url.Values, pairs ...string) url.Values {
	for i := 0; i < len(pairs); i += 2 {
		f.Set(pairs[i], pairs[i+1])
	}
	return f
}

// The Store has what the forms create.
func TestBuilder(t *testing.T) {
	b := site(t)
	v := visit(t, b, servertest.Admin)
	ttl := int32(60)
	for name, test := range map[string]struct {
		form url.Values
		want wire.SchedulingSpec
	}{
		"queue": {
			order("team/lab", "queue", "queue", []string{"team/a", "2", "ignored"}, []string{"", "1", ""}, []string{"team/b", "1", ""}),
			wire.SchedulingSpec{Testbed: "team/lab", Queue: []string{"team/a", "team/a", "team/b"}, Confirm: "None", OnFailure: "Continue"},
		},
		"slots": {
			with(order("team/lab", "slots", "slots", []string{"team/b", "", "n0/0, 1"}, []string{"team/a", "9", "2-3"}),
				"mode", "Relaxed", "exclusive", "true", "confirm", "each", "stop", "stop", "priority", "-3", "ttl", "60"),
			wire.SchedulingSpec{
				Testbed: "team/lab", Priority: -3, Exclusive: true, Confirm: "Each", OnFailure: "Stop", TTLSecondsAfterFinished: &ttl,
				Slots: &wire.SlotBased{Mode: "Relaxed", Jobs: []wire.SlotJob{
					{Job: "team/b", Slots: []slot.Ref{{ID: slot.ID{Node: "n0"}}, {Index: 1}}},
					{Job: "team/a", Slots: []slot.Ref{{Index: 2}, {Index: 3}}},
				}},
			},
		},
	} {
		p := v.post("build", test.form, 200)
		if p.path != "/ui/schedulings/team/"+name {
			t.Errorf("%s: led to %s", name, p.path)
		}
		p.wants(t, "The scheduling is created.")
		got, err := b.Store.Scheduling(t.Context(), "team", name)
		if diff := cmp.Diff(test.want, got.SchedulingSpec); err != nil || diff != "" || got.Author != "admin" {
			t.Error(name, err, got.Author, diff)
		}
	}
	// The job is in a namespace of its own.
	v.post("build", with(order("team/lab", "elsewhere", "queue", []string{"team/a", "1", ""}), "namespace", "other"), 200)
	if _, err := b.Store.Scheduling(t.Context(), "other", "elsewhere"); err != nil {
		t.Error(err)
	}
}

// Refused input stays in the form, with the reason at its row.
func TestBuilderRefuses(t *testing.T) {
	b := site(t)
	v := visit(t, b, servertest.Admin)
	bad := order("team/lab", "x", "queue", []string{"team/a", "1", ""}, []string{"team/b", "none", ""})
	p := v.post("build", bad, 422)
	p.wants(t, `value="none"`, "number of slots must be 1 to 5000")
	if got := p.words(`(?s)data-f="problem">(.*?)</p>`); len(got) != 3 || got[0] != "" || got[1] == "" { // the third is the template's
		t.Errorf("problems at rows: %q", got)
	}
	v.post("build", order("team/lab", "x", "slots", []string{"team/a", "", "zero"}), 422).wants(t, "must be an index, a range of indices or NODE/POSITION")
	v.post("build", order("team/lab", "x", "slots", []string{"team/a", "", "3-1"}), 422).wants(t, "from the lower index to the higher")
	v.post("build", order("team/lab", "Not A Name", "queue", []string{"team/a", "1", ""}), 422).wants(t, `value="Not A Name"`, "lower-case")
	v.post("build", with(order("team/lab", "x", "queue", []string{"team/a", "1", ""}), "priority", "high"), 422).wants(t, "whole number", `value="high"`)
	v.post("build", with(order("team/lab", "x", "queue", []string{"team/a", "1", ""}), "ttl", "-1"), 422)
	v.post("build", order("team/lab", "x", "queue"), 422)
	// The interface finds the same job twice with slots; its path leads to the second row.
	p = v.post("build", order("team/lab", "x", "slots", []string{"team/a", "", "0"}, []string{"", "", ""}, []string{"team/a", "", "1"}), 422)
	if got := p.words(`(?s)data-f="problem">(.*?)</p>`); len(got) != 4 || got[0] != "" || got[1] != "" || got[2] == "" {
		t.Errorf("problems at rows: %q", got)
	}
	p = v.post("build", order("team/lab", strings.Repeat("x", 1<<20), "queue"), 413)
	p.wants(t, "Too long")
	if s, err := b.Store.Schedulings(t.Context(), ""); err != nil || len(s) != 0 {
		t.Errorf("%v, %v", s, err)
	}
}

func TestBuilderRows(t *testing.T) {
	v := visit(t, site(t), servertest.Admin)
	rows := func(op string) []string {
		f := with(order("team/lab", "x", "slots", []string{"team/a", "1", "0"}, []string{"team/b", "1", "1"}), "op", op)
		got := v.post("build", f, 200).words(`name="slots" value="([^"]*)"`)
		return got[:len(got)-1] // the template's
	}
	for op, want := range map[string][]string{
		"add": {"0", "1", ""}, "up:1": {"1", "0"}, "up:0": {"0", "1"}, "down:0": {"1", "0"}, "down:1": {"0", "1"},
		"drop:0": {"1"}, "drop:9": {"0", "1"}, "drop:-1": {"0", "1"}, "up:x": {"0", "1"}, "show": {"0", "1"}, "": {"0", "1"},
	} {
		if diff := cmp.Diff(want, rows(op)); diff != "" {
			t.Error(op, diff)
		}
	}
	v.get("build?testbed=team/lab&job=team/a&job=team/b&form=slots", 200).wants(t,
		`value="manual-20261123-093000"`, `selected value="team/a"`, `selected value="team/b"`, `id="by-slots" checked`)
}

// The plan of the form's rows is the interface's, as a page and as JSON.
func TestPlan(t *testing.T) {
	b := site(t)
	v := visit(t, b, servertest.Admin)
	form := with(order("team/lab", "x", "queue", []string{"team/a", "2", ""}, []string{"", "1", ""}, []string{"team/b", "2", ""}), "op", "plan")
	v.post("build", form, 200).wants(t, "1 of 2 jobs would start at once", "at once", "later", "n0/0 n1/0")
	r, err := http.NewRequest(http.MethodPost, b.URL+"/ui/build", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	p := v.do(r, 200)
	want := `{"summary":"1 of 2 jobs would start at once; the others wait for slots.","feasible":true,"problems":[],` +
		`"rows":[{"entry":0,"job":"team/a","slots":["n0/0","n1/0"],"now":true},{"entry":2,"job":"team/b","slots":null,"now":false}]}` + "\n"
	if diff := cmp.Diff(want, p.body); diff != "" || p.header.Get("Content-Type") != "application/json" {
		t.Error(diff, p.header)
	}
	for want, rows := range map[string][][]string{
		"The job would start at once.":    {{"team/a", "3", ""}},
		"All 2 jobs would start at once.": {{"team/a", "1", ""}, {"team/b", "2", ""}},
		"0 of 1 job would start at once":  {{"team/a", "4", ""}},
	} {
		v.post("build", with(order("team/lab", "x", "queue", rows...), "op", "plan"), 200).wants(t, want)
	}
	v.post("build", with(order("team/lab", "x", "queue", []string{"team/none", "1", ""}), "op", "plan"), 200).wants(t, "It can never run like this", "team/none is not there")
	v.post("build", with(order("team/lab", "x", "queue", []string{"team/a", "5", ""}), "op", "plan"), 200).wants(t, "It can never run like this", "takes 5 slots")
	v.post("build", with(order("team/lab", "x", "slots", []string{"team/a", "", "7"}), "op", "plan"), 200).wants(t, "slot 7 is not there")
	if s, err := b.Store.Schedulings(t.Context(), ""); err != nil || len(s) != 0 {
		t.Errorf("a plan has created %v, %v", s, err)
	}
}

func TestJob(t *testing.T) {
	b := site(t)
	v := visit(t, b, servertest.Admin)
	p := v.get("jobs/team/a", 200)
	p.wants(t, "34 s", "Succeeded", "team/lab: n0/0", "SlotTooSmall", "needs 450 MiB", "&#34;profiler&#34;: {", "2026-11-23 09:29:00", "2026-11-23 09:29:34")
	version := p.words(`name="version" value="([^"]*)"`)[0]
	v.post("jobs/team/a", url.Values{"external": {`{"x":`}, "version": {version}}, 422).wants(t, "must be a JSON object", "{&#34;x&#34;:</textarea>")
	v.post("jobs/team/a", url.Values{"external": {`{"x": 1}`}, "version": {version}}, 200).wants(t, "The data is saved.", "&#34;x&#34;: 1")
	// After another client's write nothing is lost, and saving again is a decision.
	p = v.post("jobs/team/a", url.Values{"external": {`{"x": 2}`}, "version": {version}}, 412)
	p.wants(t, "has changed since you read it", "&#34;x&#34;: 2")
	if j, err := b.Store.Job(t.Context(), "team", "a"); err != nil || string(j.External) != `{"x":1}` && string(j.External) != `{"x": 1}` {
		t.Errorf("%s, %v", j.External, err)
	}
	newer := p.words(`name="version" value="([^"]*)"`)[0]
	v.post("jobs/team/a", url.Values{"external": {`{"x": 2}`}, "version": {newer}}, 200).wants(t, "The data is saved.")
	v.get("jobs/team/none", 404).wants(t, "Show the job team/none")
	v.post("jobs/team/none", url.Values{"external": {"{}"}}, 404)
}

func TestScheduling(t *testing.T) {
	b := site(t)
	v := visit(t, b, servertest.Admin)
	put := func(name string, spec wire.SchedulingSpec) {
		spec.Testbed = "team/lab"
		b.Store.PutScheduling(wire.Scheduling{Meta: wire.Meta{Namespace: "team", Name: name}, SchedulingSpec: spec, State: "Submitting",
			Jobs: []wire.SchedulingJob{{Job: "team/a", State: "Running", Slots: []string{"n0/0"}}, {Job: "team/b"}}})
	}
	put("queue", wire.SchedulingSpec{Queue: []string{"team/a", "team/b", "team/a"}})
	put("slots", wire.SchedulingSpec{Slots: &wire.SlotBased{Jobs: []wire.SlotJob{
		{Job: "team/a", Slots: []slot.Ref{{Index: 0}}}, {Job: "team/b", Slots: []slot.Ref{{Index: 1}}}}}})
	v.get("schedulings/team/queue", 200).wants(t, "queue of 3 entries", "Running", "n0/0", "release?job=team%2Fa", "waiting")

	// A link shows the question; only the button acts.
	v.get("schedulings/team/queue/release?job=team%2Fa", 200).wants(t, "Release team/a?", "Release the job")
	for _, name := range []string{"queue", "slots"} {
		if p := v.post("schedulings/team/"+name+"/release?job=team%2Fa", nil, 200); p.path != "/ui/schedulings/team/"+name {
			t.Errorf("led to %s", p.path)
		}
		got, err := b.Store.Scheduling(t.Context(), "team", name)
		if err != nil || name == "queue" && !cmp.Equal(got.Queue, []string{"team/b"}) || name == "slots" && (len(got.Slots.Jobs) != 1 || got.Slots.Jobs[0].Job != "team/b") {
			t.Errorf("%s: %+v, %v", name, got.SchedulingSpec, err)
		}
		v.post("schedulings/team/"+name+"/release?job=team%2Fa", nil, 404)
		v.post("schedulings/team/"+name+"/release?job=team%2Fb", nil, 409).wants(t, "only job")
	}
	v.get("schedulings/team/queue/delete", 200).wants(t, "Delete team/queue?", "Delete the scheduling")
	if _, err := b.Store.Scheduling(t.Context(), "team", "queue"); err != nil {
		t.Error("a link deletes:", err)
	}
	v.post("schedulings/team/queue/delete", nil, 200).wants(t, "is being deleted")
	if _, err := b.Store.Scheduling(t.Context(), "team", "queue"); err == nil {
		t.Error("it is still there")
	}
	v.post("schedulings/team/queue/delete", nil, 404)
	v.get("schedulings/team/queue", 404)
}

func TestMatrix(t *testing.T) {
	b := site(t)
	b.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: "c"}, External: json.RawMessage(`{"profiler":{"a":"20 (1)","b":"50 (1)"}}`)})
	b.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: "broken"}, External: json.RawMessage(`{"profiler":{"a":"soon"}}`)})
	b.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: "plain"}, External: json.RawMessage(`{"mine":1}`)})
	// A job of another namespace is another job, even with the same name.
	b.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "other", Name: "a"}, External: json.RawMessage(`{"profiler":{"z":"7 (1)"}}`)})
	p := visit(t, b, servertest.Viewer).get("matrix", 200)
	var got []string
	for _, cell := range p.words(`(?s)<td( data-heat.*?|[^>]* class="none".*?)</td>`) {
		_, text, _ := strings.Cut(cell, ">")
		got = append(got, strings.Join(strings.Fields(text), " "))
	}
	// Rows and columns are a, b, c. 2 squares of 2 runs are a deviation of √2.
	want := []string{
		"alone, not measured", "7.0 ×1.00 · 1 run", // a and z of other, which sorts first
		"not yet", "alone, not measured",
		"alone, not measured", "24.0 ×1.00 · 16 runs", "not yet",
		"30.0 ±1.4 ×1.00 · 2 runs", "alone, not measured", "not yet",
		"20.0 ×1.00 · 1 run", "50.0 ×2.50 · 1 run", "alone, not measured",
	}
	// A cell of the thesis's form has no deviation.
	want[5] = "24.0 ±0.0 ×1.00 · 16 runs"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p.wants(t, "team/broken", "soon", "!plain", "Best put together")
}

// Hostile names stay text, on every page.
func TestHostileNames(t *testing.T) {
	b := site(t)
	hostile := `<img src=x onerror=alert(1)>"'&` + "\u202e" + strings.Repeat("n", 253)
	nodeID := 2
	b.Store.PutSlot("team", "lab", wire.Slot{ID: hostile + "/0", Index: 4, Node: hostile, NodeID: &nodeID, State: slot.Reserved, ReservedFor: "team/" + hostile})
	b.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: hostile}, Kind: hostile, State: hostile, Reason: hostile,
		ActiveScheduling: "javascript:alert(1)/" + hostile, External: json.RawMessage(`{"profiler":{` + quoted(hostile) + `:"3 (2)"}}`)})
	b.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: "mild"}, Kind: hostile, State: hostile, Reason: hostile,
		External:   json.RawMessage(`{"</textarea><script>": ` + quoted(hostile) + `}`),
		Conditions: []wire.Condition{{Type: hostile, Message: hostile}}, Runs: []wire.Run{{Testbed: hostile, Reason: hostile}}})
	b.Store.PutScheduling(wire.Scheduling{Meta: wire.Meta{Namespace: "team", Name: "mild"}, State: hostile, Author: hostile,
		SchedulingSpec: wire.SchedulingSpec{Testbed: hostile, Queue: []string{hostile}}, Jobs: []wire.SchedulingJob{{Job: hostile, State: hostile, Slots: []string{hostile}}}})
	v := visit(t, b, servertest.Admin)
	for _, path := range []string{"", "build", "jobs/team/mild", "schedulings/team/mild", "matrix", "build?testbed=" + url.QueryEscape(hostile) + "&job=" + url.QueryEscape(hostile)} {
		p := v.get(path, 200)
		p.wants(t, "&lt;img src=x onerror=alert(1)&gt;", "!<img", "!</textarea><script", `!href="javascript:`)
	}
	v.get("schedulings/team/mild/release?job="+url.QueryEscape(hostile), 200).wants(t, "&lt;img", "!<img")
	v.get("login?next="+url.QueryEscape(`/ui/"><img>`), 200).wants(t, "!<img")
}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestLogin(t *testing.T) {
	b := site(t)
	v := visit(t, b, "")
	v.post("login", url.Values{"token": {servertest.Unknown}}, 401).wants(t, "The token is not valid", `type="password"`, "!"+servertest.Unknown)
	v.post("login", url.Values{"token": {"  "}}, 422).wants(t, "Enter a token")
	for next, want := range map[string]string{
		"/ui/matrix": "/ui/matrix", "https://evil.example/ui/matrix": "/ui/matrix", "//evil.example/ui/matrix": "/ui/matrix",
		"//evil.example/": "/ui/", `/\evil.example`: "/ui/", "/ui/../x": "/ui/", "/ui/%2e%2e/x": "/ui/",
		"": "/ui/", "/": "/ui/", "/ui/login": "/ui/", "/external/v1/overview": "/ui/", "javascript:alert(1)": "/ui/", "https:evil.example": "/ui/",
	} {
		if p := v.post("login", url.Values{"token": {servertest.Admin}, "next": {next}}, 200); p.path != want {
			t.Errorf("%q leads to %s", next, p.path)
		}
	}
	if p := v.get("jobs/team/a", 200); p.path != "/ui/jobs/team/a" {
		t.Error(p.path)
	}
	if p := v.post("logout", nil, 200); p.path != "/ui/login" {
		t.Error(p.path)
	}
	if p := v.get("", 200); p.path != "/ui/login" {
		t.Error("still logged in on", p.path)
	}
	// A session that has ended in the middle of a form leads to the login, too.
	v = visit(t, b, servertest.Admin)
	b.Identities.Revoke(servertest.Admin)
	if p := v.post("build", order("team/lab", "x", "queue", []string{"team/a", "1", ""}), 200); p.path != "/ui/login" || p.query.Get("next") != "/ui/" {
		t.Error(p.path, p.query)
	}
}

// A form of another origin is refused, and does nothing.
func TestForeignForms(t *testing.T) {
	b := site(t)
	b.Store.PutScheduling(wire.Scheduling{Meta: wire.Meta{Namespace: "team", Name: "now"}, SchedulingSpec: wire.SchedulingSpec{Testbed: "team/lab", Queue: []string{"team/b"}}})
	v := visit(t, b, servertest.Admin)
	// The handler does not rely on the interface behind it, and does not call it.
	asked := 0
	alone := httptest.NewServer(ui.Handler(ui.Config{API: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ })}))
	defer alone.Close()
	for _, base := range []string{b.URL, alone.URL} {
		for _, header := range []http.Header{{"Sec-Fetch-Site": {"cross-site"}}, {"Origin": {"https://evil.example"}}} {
			for _, path := range []string{"schedulings/team/now/delete", "schedulings/team/now/release?job=team/b", "build", "jobs/team/a", "logout", "login"} {
				r, err := http.NewRequest(http.MethodPost, base+"/ui/"+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header = header
				v.do(r, 403)
			}
		}
	}
	if asked != 0 {
		t.Errorf("the interface was asked %d times", asked)
	}
	if _, err := b.Store.Scheduling(t.Context(), "team", "now"); err != nil {
		t.Error(err)
	}
}

func TestHeaders(t *testing.T) {
	b := site(t)
	v := visit(t, b, servertest.Admin)
	page := v.get("", 200)
	// The headers are the handler's own, not those of the surrounding server.
	alone := httptest.NewServer(ui.Handler(ui.Config{API: b.Server}))
	defer alone.Close()
	r, err := http.NewRequest(http.MethodGet, alone.URL+"/ui/login", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []answer{page, v.get("nowhere", 404), visit(t, b, "").get("", 200), v.do(r, 200)} {
		csp := a.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("the policy lacks %s: %s", part, csp)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
			t.Error(csp)
		}
		for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Content-Type": "text/html; charset=utf-8"} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s = %s", a.path, name, got)
			}
		}
		a.wants(t, "!style=", "!onclick", "!http://", "!https://")
		if n := strings.Count(a.body, "<script"); n != 1 {
			t.Errorf("%s: %d scripts", a.path, n)
		}
	}
	for _, path := range page.words(`(?:src|href)="/ui/(static/[^"]*)"`) {
		f := v.get(path, 200)
		if f.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || strings.Contains(f.header.Get("Content-Type"), "plain") || f.body == "" {
			t.Error(path, f.header)
		}
		old := regexp.MustCompile(`static/[0-9a-f]+`).ReplaceAllString(path, "static/0")
		if got := v.get(old, 200).header.Get("Cache-Control"); got != "no-store" {
			t.Error(old, got)
		}
	}
	v.get("static/0/doc.go", 404)
	v.get("static/0/..%2Fhandler.go", 404)
}

// Scripts are read by people and loaded by every page, so they stay small.
func TestScriptsAreSmall(t *testing.T) {
	const most = 30 << 10
	sum := int64(0)
	for _, name := range []string{"page.js", "watch.js"} {
		info, err := os.Stat("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	if sum > most {
		t.Errorf("scripts have %d bytes, %d at most", sum, most)
	}
}

// Many nodes become signs, many columns too; gaps stay.
func TestGridShapes(t *testing.T) {
	b := site(t)
	grid := func(nodes, slots int) answer {
		var all []wire.Slot
		for n := range nodes {
			for p := range slots {
				all = append(all, wire.Slot{ID: fmt.Sprintf("n%d/%d", n, p), Index: len(all), Node: fmt.Sprintf("n%d", n), NodeID: &n, Position: p, State: slot.Free})
			}
		}
		b.Store.PutTestbed(wire.Testbed{Meta: wire.Meta{Namespace: "team", Name: "lab"}, Ready: true, Nodes: nodes, Slots: all})
		return visit(t, b, servertest.Viewer).get("", 200)
	}
	for _, test := range []struct {
		nodes, slots int
		dense        bool
	}{{16, 8, false}, {17, 1, true}, {1, 9, true}, {0, 0, false}} {
		p := grid(test.nodes, test.slots)
		if got := strings.Contains(p.body, `class="grid dense"`); got != test.dense {
			t.Errorf("%d × %d: dense %t", test.nodes, test.slots, got)
		}
		if got := len(p.words(`data-slot="([^"]*)"`)); got != test.nodes*test.slots {
			t.Errorf("%d × %d: %d cells", test.nodes, test.slots, got)
		}
	}
	zero := 0
	b.Store.PutTestbed(wire.Testbed{Meta: wire.Meta{Namespace: "team", Name: "lab"}, Nodes: 1, Slots: []wire.Slot{
		{ID: "n0/2", Node: "n0", NodeID: &zero, Position: 2, State: slot.Free},
		{ID: "old/0", Index: 1, Node: "old", Position: 0, State: slot.Retiring},
		{ID: "n0/9999", Node: "n0", NodeID: &zero, Position: 9999},
	}})
	p := visit(t, b, servertest.Viewer).get("", 200)
	if got := p.words(`(?s)<tr role="row" data-node="([^"]*)"`); !cmp.Equal(got, []string{"n0", "old"}) {
		t.Errorf("rows %q", got)
	}
	if n := strings.Count(p.body, `class="none"`); n != 2+2 {
		t.Errorf("%d holes", n)
	}
}

// Without an interface every page is a problem, not a fault.
func TestNoInterface(t *testing.T) {
	h := ui.Handler(ui.Config{})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ui/jobs/a/b", nil))
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "Show the job a/b") {
		t.Error(w.Code, w.Body)
	}
}
