package server_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
)

// sent answers a request without a connection.
func sent(b *servertest.Bench, method, path, bodyType string, body []byte) *httptest.ResponseRecorder {
	q := httptest.NewRequest(method, "/", strings.NewReader(string(body)))
	q.URL = &url.URL{Path: path}
	if before, after, ok := strings.Cut(path, "?"); ok {
		q.URL = &url.URL{Path: before, RawQuery: after}
	}
	q.Header.Set("Authorization", "Bearer "+servertest.Admin)
	q.Header.Set("Content-Type", bodyType)
	answer := httptest.NewRecorder()
	b.Server.ServeHTTP(answer, q)
	return answer
}

func unlimited(c *server.Config) {
	c.SeedPaths, c.DefaultNamespace = true, "team"
	c.Limits.Rate, c.Limits.Burst = 1e9, 1<<30
}

// posted checks that a posted scheduling is created, and a repetition is no conflict, or that it is
// refused and not created.
func posted(t *testing.T, b *servertest.Bench, path string, fresh int, body []byte) {
	t.Helper()
	first := sent(b, http.MethodPost, path, "application/json", body)
	all, err := b.Store.Schedulings(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	switch first.Code {
	case fresh:
		if len(all) != 1 {
			t.Fatalf("created: %v", all)
		}
		if again := sent(b, http.MethodPost, path, "application/json", body); again.Code != http.StatusOK || again.Body.String() != first.Body.String() {
			t.Fatalf("%q once more: %d %s, not %s", body, again.Code, again.Body, first.Body)
		}
		o := all[0]
		if causes := o.Validate(o.Namespace); causes != nil || !cmp.Equal(o.Normal(o.Namespace), o.SchedulingSpec) {
			t.Fatalf("stored %+v: %v", o.SchedulingSpec, causes)
		}
		b.Store.Remove("schedulings", o.Namespace, o.Name)
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		if len(all) != 0 {
			t.Fatalf("refused: %s, and there: %v", first.Body, all)
		}
	default:
		t.Fatalf("%q: %d %s", body, first.Code, first.Body)
	}
}

func FuzzScheduling(f *testing.F) {
	for _, seed := range []string{
		`{"name": "s", "testbed": "bed", "queue": ["job-a", "team/job-b"]}`,
		`{"name": "s", "testbed": "team/bed", "slots": {"mode": "Relaxed", "jobs": [{"job": "a", "slots": [0, "node-1/1"]}]}, "priority": -1, "exclusive": true}`,
		`{"name": "s", "testbed": "bed", "queue": ["a"], "confirm": "Each", "onFailure": "Stop", "ttlSecondsAfterFinished": 0, "resourceVersion": "12"}`,
		`{"name": "../x", "testbed": "a/b/c", "queue": [""], "slots": {}}`, `{"Name": "s", "TESTBED": "b", "queue": ["a"]}`, `null`, `{}`, ``,
	} {
		f.Add([]byte(seed))
	}
	b := servertest.Start(f, unlimited)
	f.Fuzz(func(t *testing.T, body []byte) {
		if plan := sent(b, http.MethodPost, "/external/v1/namespaces/team/schedulings?dryRun=All", "application/json", body); plan.Code >= 500 {
			t.Fatalf("%q: %d %s", body, plan.Code, plan.Body)
		}
		posted(t, b, "/external/v1/namespaces/team/schedulings", http.StatusCreated, body)
	})
}

func FuzzSeedScheduling(f *testing.F) {
	for _, seed := range []string{
		`{"name": "s", "testBed": "bed", "queue": ["job-a", "job-a"], "slots": null, "state": "AcquireState"}`,
		`{"name": "s", "testBed": "bed", "slots": {"mode": "relaxed", "jobs": [{"name": "a", "slots": [0, 3]}]}}`,
		`{"name": "s", "testBed": "bed", "slots": {"mode": "strict", "jobs": [{"name": "a", "slots": [-1]}]}}`, `[]`, ``,
	} {
		f.Add([]byte(seed))
	}
	b := servertest.Start(f, unlimited)
	f.Fuzz(func(t *testing.T, body []byte) { posted(t, b, "/external/schedulings", http.StatusOK, body) })
}

// FuzzSeedJob: a PUT is stored, or nothing has changed.
func FuzzSeedJob(f *testing.F) {
	for _, seed := range []string{
		`{"name": "job-a", "state": "ReadyState", "externalScheduler": {"profiler": [{"a": "24 (16)"}]}, "scheduledEvents": []}`,
		`{"name": "job-a"}`, `{"name": "job-a", "externalScheduler": []}`, `{"name": "", "externalScheduler": {}}`, `{`,
	} {
		f.Add([]byte(seed))
	}
	b := servertest.Start(f, unlimited)
	b.Fill()
	f.Fuzz(func(t *testing.T, body []byte) {
		sent(b, http.MethodPut, "/external/jobs/", "application/json", []byte(`{"name": "job-a", "externalScheduler": {"before": true}}`))
		answer := sent(b, http.MethodPut, "/external/jobs/", "application/json", body)
		job, err := b.Store.Job(t.Context(), "team", "job-a")
		if err != nil || answer.Code >= 500 {
			t.Fatalf("%q: %v %d %s", body, err, answer.Code, answer.Body)
		}
		var data map[string]any
		if err := json.Unmarshal(job.External, &data); err != nil {
			t.Fatalf("%q: stored %s: %v", body, job.External, err)
		}
		if answer.Code != http.StatusOK && string(job.External) != `{"before":true}` {
			t.Fatalf("%q: refused by %s, and stored %s", body, answer.Body, job.External)
		}
	})
}

// FuzzMergePatch: the server merges like a naive version.
func FuzzMergePatch(f *testing.F) {
	for _, c := range mergeCases {
		f.Add([]byte(c.target), []byte(c.patch))
	}
	deep := []byte(strings.Repeat(`{"k":`, 100) + "1e999" + strings.Repeat("}", 100))
	f.Add(deep, deep)
	f.Add([]byte(`{"a":1,"a":2}`), []byte(`{"a":[{"b":1,"b":2}]}`))
	b := servertest.Start(f, unlimited)
	b.Fill()
	f.Fuzz(func(t *testing.T, target, patch []byte) {
		const path = "/external/v1/namespaces/team/jobs/job-a/external"
		put := sent(b, http.MethodPut, path, "application/json", target)
		if put.Code != http.StatusOK {
			if put.Code >= 500 {
				t.Fatalf("%q: %d %s", target, put.Code, put.Body)
			}
			return
		}
		before, _ := b.Store.Job(t.Context(), "team", "job-a")
		answer := sent(b, http.MethodPatch, path, "application/merge-patch+json", patch)
		after, _ := b.Store.Job(t.Context(), "team", "job-a")
		var change any
		if wire.Check(patch) != nil || json.Unmarshal(patch, &change) != nil {
			if answer.Code == http.StatusOK {
				t.Fatalf("%q is no JSON, or beyond the bounds, and was merged: %s", patch, after.External)
			}
			return
		}
		if answer.Code != http.StatusOK {
			if _, object := change.(map[string]any); object && answer.Code != http.StatusRequestEntityTooLarge || answer.Code >= 500 {
				t.Fatalf("%q into %q: %d %s", patch, target, answer.Code, answer.Body)
			}
			if string(after.External) != string(before.External) {
				t.Fatalf("%q into %q: refused, and stored %s", patch, target, after.External)
			}
			return
		}
		var was, is any
		if json.Unmarshal(before.External, &was) != nil || json.Unmarshal(after.External, &is) != nil {
			t.Fatalf("stored %s and %s", before.External, after.External)
		}
		if want := merge(was, change); !cmp.Equal(is, want) {
			t.Fatalf("%q into %q: %s", patch, target, cmp.Diff(want, is))
		}
	})
}

// merge is the pseudocode of RFC 7386, section 2.
func merge(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = merge(object[name], value)
		}
	}
	return object
}

// mergeCases are those of RFC 7386, appendix A, whose result is an object.
var mergeCases = []struct{ target, patch, want string }{
	{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
	{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
	{`{"a":"b"}`, `{"a":null}`, `{}`},
	{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
	{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
	{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
	{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
	{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
	{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
	{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
}

func TestMergePatch(t *testing.T) {
	b := servertest.Start(t, unlimited)
	b.Fill()
	const path = "/external/v1/namespaces/team/jobs/job-a/external"
	for _, c := range mergeCases {
		sent(b, http.MethodPut, path, "application/json", []byte(c.target))
		sent(b, http.MethodPatch, path, "application/merge-patch+json", []byte(c.patch))
		if job, _ := b.Store.Job(t.Context(), "team", "job-a"); string(job.External) != c.want {
			t.Errorf("%s into %s: %s, want %s", c.patch, c.target, job.External, c.want)
		}
	}
	// The limit applies to the stored data, not to the patch.
	long := []byte(`{"a": "` + strings.Repeat("x", 40<<10) + `"}`)
	sent(b, http.MethodPut, path, "application/json", long)
	before, _ := b.Store.Job(t.Context(), "team", "job-a")
	if answer := sent(b, http.MethodPatch, path, "application/merge-patch+json", []byte(strings.Replace(string(long), "a", "b", 1))); answer.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	if after, _ := b.Store.Job(t.Context(), "team", "job-a"); string(after.External) != string(before.External) {
		t.Error("refused, and stored")
	}
	if answer := sent(b, http.MethodPatch, path, "application/merge-patch+json", []byte(`null`)); answer.Code != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// FuzzContinue: for any continue, the page has the objects after some name, or the request is
// refused.
func FuzzContinue(f *testing.F) {
	b := servertest.Start(f, unlimited)
	b.Fill()
	const path = "/external/v1/namespaces/team/jobs?limit=1&continue="
	var list struct {
		Items    []struct{ Name string }
		Continue string
	}
	if err := json.Unmarshal(sent(b, http.MethodGet, path, "", nil).Body.Bytes(), &list); err != nil || list.Continue == "" {
		f.Fatal(err)
	}
	f.Add(list.Continue)
	for _, seed := range []string{"", "x", "====", list.Continue + "=", base64.RawURLEncoding.EncodeToString([]byte(`{"k":"jobs","of":"team","ns":"","n":""}`))} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		answer := sent(b, http.MethodGet, path+url.QueryEscape(token), "", nil)
		if answer.Code == http.StatusBadRequest {
			return
		}
		list.Items, list.Continue = nil, ""
		if err := json.Unmarshal(answer.Body.Bytes(), &list); err != nil || answer.Code != http.StatusOK || len(list.Items) > 1 {
			t.Fatalf("%q: %d %s", token, answer.Code, answer.Body)
		}
	})
}
