package server_test

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
)

var contractOf = flag.String("contract", "", "a file that describes the server which TestContract tests, the fields of target as JSON; empty is a server of this process")

// target is a server that is to keep to the contract.
type target struct {
	// URL is http[s]://HOST:PORT; HTTP makes the connections, nil is http.DefaultClient.
	URL  string
	HTTP *http.Client `json:"-"`
	// CAFile, if set, has the PEM certificates that are trusted in place of the system's. The
	// path is absolute: go test runs this in the package's directory.
	CAFile string
	// Namespace has the Testbed, with two slots or more that are free, and the two Jobs,
	// which no scheduling has and which keep no data. There are no schedulings in it, and
	// the contract leaves none behind.
	Namespace string
	Testbed   string
	Jobs      [2]string
	// Seed is set if the paths of the thesis are served, for the namespace
	// (server.Config.SeedPaths).
	Seed bool
	// Tokens: Admin may do everything everywhere, Viewer see everything everywhere, Team
	// everything in the namespace, and Nothing nothing. Expired, Foreign, which is for
	// another audience, and Unknown are refused.
	Admin, Viewer, Team, Nothing string
	Expired, Foreign, Unknown    string
}

// targetOf fills the bench's store, and returns its server as a target.
func targetOf(b *servertest.Bench) target {
	b.Fill()
	return target{
		URL: b.URL, Namespace: "team", Testbed: "bed", Jobs: [2]string{"job-a", "job-b"}, Seed: true,
		Admin: servertest.Admin, Viewer: servertest.Viewer, Team: servertest.Team, Nothing: servertest.Nothing,
		Expired: servertest.Expired, Foreign: servertest.Foreign, Unknown: servertest.Unknown,
	}
}

// TestContract: the server of -contract keeps to the contract; without the flag it is one on
// servertest's Store, with TLS and without.
func TestContract(t *testing.T) {
	if *contractOf != "" {
		var to target
		text, err := os.ReadFile(*contractOf)
		if err == nil {
			err = json.Unmarshal(text, &to)
		}
		if err != nil {
			t.Fatal(err)
		}
		if to.CAFile != "" {
			to.HTTP = trusting(t, to.CAFile)
		}
		checkContract(t, to)
		return
	}
	b := servertest.Start(t, func(c *server.Config) { c.SeedPaths, c.DefaultNamespace = true, "team" })
	to := targetOf(b)
	t.Run("plain", func(t *testing.T) { checkContract(t, to) })
	secure := httptest.NewTLSServer(b.Server)
	t.Cleanup(secure.Close)
	to.URL, to.HTTP = secure.URL, secure.Client()
	t.Run("TLS", func(t *testing.T) { checkContract(t, to) })
}

// trusting returns a client that trusts the certificates of a file.
func trusting(t *testing.T, file string) *http.Client {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatalf("CAFile %s: no PEM certificate", file)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// checkContract tests every row of the interface, in its own form and, if it is served, in that
// of the thesis: what is answered, what is refused, and that nothing is written then. What
// the server may read late, as from a cache, is waited for.
func checkContract(t *testing.T, of target) {
	c := &contract{target: of}
	c.HTTP = cmp.Or(c.HTTP, http.DefaultClient)
	c.v1 = "/external/v1"
	c.in = c.v1 + "/namespaces/" + c.Namespace
	parts := []part{
		{"Refusals", c.refusals}, {"Testbeds", c.testbeds}, {"Jobs", c.jobs}, {"External", c.external}, {"Plan", c.plan}, {"Schedulings", c.schedulings},
		{"Slots", c.slots}, {"Pages", c.pages}, {"Overview", c.overview}, {"Session", c.session}, {"Description", c.description},
	}
	if c.Seed {
		parts = append(parts, part{"SeedTestbeds", c.seedTestbeds}, part{"SeedJobs", c.seedJobs}, part{"SeedSchedulings", c.seedSchedulings})
	}
	for _, p := range parts {
		t.Run(p.name, p.test)
	}
}

// part is a part of the contract.
type part struct {
	name string
	test func(*testing.T)
}

type contract struct {
	target
	v1, in string
}

func (c *contract) testbeds(t *testing.T) {
	for _, path := range []string{c.v1 + "/testbeds", c.v1 + "/testbeds?namespace=" + c.Namespace, c.in + "/testbeds"} {
		list := c.get(t, c.Viewer, path).want(t, http.StatusOK)
		bed := find(t, list.at("items"), c.Namespace, c.Testbed)
		if bed["resourceVersion"] == "" || bed["slots"] != nil || bed["ready"] != true {
			t.Errorf("%s: %v", path, bed)
		}
	}
	path := c.in + "/testbeds/" + c.Testbed
	one := c.get(t, c.Viewer, path).want(t, http.StatusOK)
	free, _ := one.at("counts", "free").(float64)
	one.wrongIf(t, one.at("name") != c.Testbed || one.at("namespace") != c.Namespace || one.at("slots") != nil || free < 2)
	one.wrongIf(t, one.header.Get("ETag") != `"`+one.text("resourceVersion")+`"`)
	without := c.get(t, c.Viewer, path+"?slots=false").want(t, http.StatusOK)
	without.wrongIf(t, without.at("slots") != nil)
	with := c.get(t, c.Viewer, path+"?slots=true").want(t, http.StatusOK)
	alone := c.get(t, c.Viewer, path+"/slots").want(t, http.StatusOK)
	for _, slots := range []any{with.at("slots"), alone.json} {
		c.checkSlots(t, slots)
	}
	for path, answer := range map[string]*answer{path: one, path + "?slots=true": with, path + "/slots": alone} {
		c.checkNotModified(t, path, answer)
	}
	c.get(t, c.Team, c.in+"/testbeds").want(t, http.StatusOK)
	c.get(t, c.Team, c.v1+"/testbeds").refused(t, http.StatusForbidden, "list", "testbeds", "all namespaces")
	c.get(t, c.Viewer, c.in+"/testbeds/absent").refused(t, http.StatusNotFound)
	c.get(t, c.Viewer, c.in+"/testbeds/absent/slots").refused(t, http.StatusNotFound)
	c.get(t, c.Viewer, path+"?slots=perhaps").refused(t, http.StatusBadRequest, "slots")
}

// checkSlots: slots by index, each named NODE/POSITION.
func (c *contract) checkSlots(t *testing.T, slots any) {
	t.Helper()
	list, _ := slots.([]any)
	if len(list) < 2 {
		t.Fatalf("slots: %v", slots)
	}
	for i, one := range list {
		slot, _ := one.(map[string]any)
		node, _ := slot["nodeName"].(string)
		position, _ := slot["slotPositionOnNode"].(float64)
		if slot["id"] != node+"/"+strconv.Itoa(int(position)) || slot["index"] != float64(i) || slot["state"] == "" {
			t.Errorf("slot %d: %v", i, slot)
		}
	}
}

// checkNotModified checks that a client which has an answer gets status 304 for it. An answer that
// changes meanwhile is asked for again.
func (c *contract) checkNotModified(t *testing.T, path string, first *answer) {
	t.Helper()
	until(t, func() bool {
		tag := first.header.Get("ETag")
		if tag == "" {
			t.Fatalf("%s: no ETag", path)
		}
		first = c.do(t, request{method: http.MethodGet, path: path, token: c.Viewer, header: http.Header{"If-None-Match": {tag}}})
		return first.status == http.StatusNotModified && len(first.body) == 0
	})
	c.do(t, request{method: http.MethodGet, path: path, token: c.Viewer, header: http.Header{"If-None-Match": {`"0"`}}}).want(t, http.StatusOK)
}

func (c *contract) jobs(t *testing.T) {
	for _, path := range []string{c.v1 + "/jobs", c.v1 + "/jobs?namespace=" + c.Namespace, c.in + "/jobs"} {
		list := c.get(t, c.Viewer, path).want(t, http.StatusOK)
		for _, name := range c.Jobs {
			if job := find(t, list.at("items"), c.Namespace, name); job["kind"] == "" || job["state"] == "" {
				t.Errorf("%s: %v", path, job)
			}
		}
	}
	path := c.in + "/jobs/" + c.Jobs[0]
	one := c.get(t, c.Team, path).want(t, http.StatusOK)
	one.wrongIf(t, one.at("name") != c.Jobs[0] || one.header.Get("ETag") != `"`+one.text("resourceVersion")+`"`)
	c.checkNotModified(t, path, one)
	c.get(t, c.Team, c.v1+"/jobs").refused(t, http.StatusForbidden, "list", "jobs")
	c.get(t, c.Viewer, c.in+"/jobs/absent").refused(t, http.StatusNotFound)
}

// external: what is written is there as it was written, at the version or not at all.
func (c *contract) external(t *testing.T) {
	job := c.in + "/jobs/" + c.Jobs[0]
	path := job + "/external"
	is := func(want string) {
		t.Helper()
		until(t, func() bool { return c.get(t, c.Admin, job).want(t, http.StatusOK).is(t, want, "externalScheduler") })
	}
	put := c.put(t, c.Team, path, `{"matrix": {"a": 1.5, "b": [1, null, "x"]}, "n": 7}`).want(t, http.StatusOK)
	const first = `{"matrix":{"a":1.5,"b":[1,null,"x"]},"n":7}`
	put.wrongIf(t, !put.is(t, first, "externalScheduler") || put.header.Get("ETag") != `"`+put.text("resourceVersion")+`"`)
	is(first)
	patched := c.patch(t, c.Team, path, `{"matrix": {"a": null, "c": {"d": null, "e": 2}}, "n": 8}`).want(t, http.StatusOK)
	const second = `{"matrix":{"b":[1,null,"x"],"c":{"e":2}},"n":8}`
	patched.wrongIf(t, !patched.is(t, second, "externalScheduler"))
	is(second)
	for _, r := range []request{
		{method: http.MethodPut, path: path, token: c.Team, body: `{"late": true}`},
		{method: http.MethodPatch, path: path, token: c.Team, body: `{"late": true}`, kind: mergePatch},
	} {
		r.header = http.Header{"If-Match": {`"1"`}}
		c.do(t, r).refused(t, http.StatusPreconditionFailed)
		r.header = http.Header{"If-Match": {"one"}}
		c.do(t, r).refused(t, http.StatusBadRequest, "If-Match")
		r.header = http.Header{"If-Match": {`W/"1"`}}
		c.do(t, r).refused(t, http.StatusPreconditionFailed)
		r.body = `[1]`
		r.header = nil
		c.do(t, r).refused(t, http.StatusUnprocessableEntity, "object")
		for _, bad := range []string{``, `{"a":`, `{} {}`} {
			r.body = bad
			c.do(t, r).refused(t, http.StatusBadRequest)
		}
		r.body = `{"x": 1e999}`
		c.do(t, r).refused(t, http.StatusUnprocessableEntity)
		r.body = `{"x": "` + strings.Repeat("x", 64<<10) + `"}`
		c.do(t, r).refused(t, http.StatusRequestEntityTooLarge, "65536")
		r.body = `{"x": "` + strings.Repeat("x", 1<<20) + `"}`
		c.do(t, r).refused(t, http.StatusRequestEntityTooLarge, "1048576")
		r.body, r.kind = `{}`, "text/plain"
		c.do(t, r).refused(t, http.StatusUnsupportedMediaType)
	}
	// At the version that is there it is written, and then the version is another one.
	var version string
	until(t, func() bool {
		version = c.get(t, c.Admin, job).want(t, http.StatusOK).header.Get("ETag")
		r := request{method: http.MethodPut, path: path, token: c.Team, body: `{"at": "version"}`, header: http.Header{"If-Match": {version}}}
		return c.do(t, r).status == http.StatusOK
	})
	is(`{"at":"version"}`)
	r := request{method: http.MethodPatch, path: path, token: c.Team, body: `{"at": null}`, kind: mergePatch, header: http.Header{"If-Match": {version}}}
	c.do(t, r).refused(t, http.StatusPreconditionFailed)
	c.put(t, c.Team, c.in+"/jobs/absent/external", `{}`).refused(t, http.StatusNotFound)
	c.patch(t, c.Team, c.in+"/jobs/absent/external", `{}`).refused(t, http.StatusNotFound)
	c.put(t, c.Viewer, path, `{}`).refused(t, http.StatusForbidden, "update", "jobs/external")
	c.patch(t, c.Viewer, path, `{}`).refused(t, http.StatusForbidden, "patch", "jobs/external")
	is(`{"at":"version"}`)
	c.put(t, c.Team, path, `{}`).want(t, http.StatusOK)
}

// plan: what would be is said, and nothing is there afterwards.
func (c *contract) plan(t *testing.T) {
	path := c.in + "/schedulings?dryRun=All"
	plan := c.post(t, c.Team, path, `{"name": "planned", "testbed": "`+c.Testbed+`", "queue": ["`+c.Jobs[0]+`", "`+c.Jobs[1]+`"]}`).want(t, http.StatusOK)
	rows, _ := plan.at("plan").([]any)
	if plan.at("feasible") != true || len(rows) != 2 {
		t.Fatalf("%s", plan.body)
	}
	for i, one := range rows {
		row, _ := one.(map[string]any)
		slots, _ := row["slots"].([]any)
		if row["job"] != c.Namespace+"/"+c.Jobs[i] || row["now"] != true || len(slots) != 1 {
			t.Errorf("row %d: %v", i, row)
		}
	}
	for what, body := range map[string]string{
		"testbed":           `{"name": "planned", "testbed": "absent", "queue": ["` + c.Jobs[0] + `"]}`,
		"queue[1]":          `{"name": "planned", "testbed": "` + c.Testbed + `", "queue": ["` + c.Jobs[0] + `", "absent"]}`,
		"slots.jobs[0].job": `{"name": "planned", "testbed": "` + c.Testbed + `", "slots": {"jobs": [{"job": "absent", "slots": [0]}]}}`,
	} {
		plan := c.post(t, c.Team, path, body).want(t, http.StatusOK)
		problems, _ := plan.at("problems").([]any)
		named := slices.ContainsFunc(problems, func(p any) bool { return p.(map[string]any)["field"] == what })
		plan.wrongIf(t, plan.at("feasible") != false || !named)
	}
	c.post(t, c.Viewer, path, `{"name": "planned", "testbed": "x", "queue": ["y"]}`).refused(t, http.StatusForbidden, "create", "schedulings")
	c.post(t, c.Team, c.in+"/schedulings?dryRun=Some", `{}`).refused(t, http.StatusBadRequest, "dryRun")
	c.get(t, c.Team, c.in+"/schedulings/planned").refused(t, http.StatusNotFound)
}

// schedulings: the life of one.
func (c *contract) schedulings(t *testing.T) {
	list, path := c.in+"/schedulings", c.in+"/schedulings/contract"
	body := `{"name": "contract", "testbed": "` + c.Testbed + `", "queue": ["` + c.Jobs[0] + `"], "priority": 3}`
	created := c.post(t, c.Team, list, body).want(t, http.StatusCreated)
	created.wrongIf(t, created.header.Get("Location") != path || created.at("testbed") != c.Namespace+"/"+c.Testbed || created.at("priority") != 3.0 || created.text("author") == "")
	// What is left out, and how names are spelt, makes no difference.
	again := `{"queue": ["` + c.Namespace + "/" + c.Jobs[0] + `"], "priority": 3, "name": "contract", "confirm": "None", "testbed": "` + c.Namespace + "/" + c.Testbed + `"}`
	same := c.post(t, c.Team, list, again).want(t, http.StatusOK)
	same.wrongIf(t, same.text("uid") != created.text("uid"))
	c.post(t, c.Team, list, strings.Replace(body, "3", "4", 1)).refused(t, http.StatusConflict)
	var read *answer
	until(t, func() bool { read = c.get(t, c.Team, path); return read.status == http.StatusOK })
	read.wrongIf(t, !read.is(t, `["`+c.Namespace+"/"+c.Jobs[0]+`"]`, "queue"))
	find(t, c.get(t, c.Team, list).want(t, http.StatusOK).at("items"), c.Namespace, "contract")
	find(t, c.get(t, c.Viewer, c.v1+"/schedulings").want(t, http.StatusOK).at("items"), c.Namespace, "contract")
	c.get(t, c.Team, c.v1+"/schedulings").refused(t, http.StatusForbidden, "list", "schedulings")
	c.get(t, c.Viewer, c.in+"/schedulings/absent").refused(t, http.StatusNotFound)

	// What was read, and is sent back with a change, is taken.
	put := func(old, new string) *answer {
		t.Helper()
		text := string(c.get(t, c.Team, path).want(t, http.StatusOK).body)
		return c.put(t, c.Team, path, strings.Replace(text, old, new, 1))
	}
	until(t, func() bool { // until no other writer comes between
		a := put(`"priority":3`, `"priority":5`)
		return a.status == http.StatusOK && a.at("priority") == 5.0
	})
	until(t, func() bool { return c.get(t, c.Viewer, path).want(t, http.StatusOK).at("priority") == 5.0 })
	for _, bad := range []struct {
		status      int
		body, field string
	}{
		{http.StatusUnprocessableEntity, strings.Replace(body, `"`+c.Testbed+`"`, `"other"`, 1), "testbed"},
		{http.StatusUnprocessableEntity, strings.Replace(body, "contract", "other", 1), "name"},
		{http.StatusUnprocessableEntity, strings.Replace(body, "{", `{"namespace": "other-namespace", `, 1), "namespace"},
		{http.StatusUnprocessableEntity, strings.Replace(body, "{", `{"confirm": "Perhaps", `, 1), "confirm"},
		{http.StatusPreconditionFailed, strings.Replace(body, "{", `{"resourceVersion": "1", `, 1), ""},
		{http.StatusBadRequest, strings.Replace(body, "{", `{"prority": 1, `, 1), ""},
	} {
		c.put(t, c.Team, path, bad.body).refused(t, bad.status).names(t, bad.field)
	}
	stale := http.Header{"If-Match": {`"1"`}}
	c.do(t, request{method: http.MethodPut, path: path, token: c.Team, body: body, header: stale}).refused(t, http.StatusPreconditionFailed)
	c.do(t, request{method: http.MethodDelete, path: path, token: c.Team, header: stale}).refused(t, http.StatusPreconditionFailed)
	c.put(t, c.Viewer, path, body).refused(t, http.StatusForbidden, "update", "schedulings")
	c.delete(t, c.Viewer, path).refused(t, http.StatusForbidden, "delete", "schedulings")
	c.put(t, c.Team, c.in+"/schedulings/absent", strings.Replace(body, "contract", "absent", 1)).refused(t, http.StatusNotFound)
	is := c.get(t, c.Viewer, path).want(t, http.StatusOK)
	is.wrongIf(t, is.at("priority") != 5.0 || is.text("uid") != created.text("uid"))
	c.remove(t, "contract")
	c.delete(t, c.Team, path).refused(t, http.StatusNotFound)
}

// slots: jobs with their slots, and every way in which that cannot be.
func (c *contract) slots(t *testing.T) {
	slots := c.get(t, c.Viewer, c.in+"/testbeds/"+c.Testbed+"/slots").want(t, http.StatusOK).json.([]any)
	id := slots[1].(map[string]any)["id"].(string)
	list := c.in + "/schedulings"
	body := `{"name": "by-slot", "testbed": "` + c.Testbed + `", "slots": {"mode": "Relaxed", "jobs": [` +
		`{"job": "` + c.Jobs[0] + `", "slots": [0]}, {"job": "` + c.Jobs[1] + `", "slots": ["` + id + `"]}]}}`
	plan := c.post(t, c.Team, list+"?dryRun=All", body).want(t, http.StatusOK)
	rows, _ := plan.at("plan").([]any)
	plan.wrongIf(t, plan.at("feasible") != true || len(rows) != 2 || !plan.is(t, `["`+id+`"]`, "plan", "1", "slots"))
	created := c.post(t, c.Team, list, body).want(t, http.StatusCreated)
	created.wrongIf(t, created.at("slots", "mode") != "Relaxed" || !created.is(t, `["`+id+`"]`, "slots", "jobs", "1", "slots") || !created.is(t, `[0]`, "slots", "jobs", "0", "slots"))
	c.post(t, c.Team, list, body).want(t, http.StatusOK)
	until(t, func() bool { return c.get(t, c.Team, list+"/by-slot").status == http.StatusOK })
	c.put(t, c.Team, list+"/by-slot", `{"testbed": "`+c.Testbed+`", "queue": ["`+c.Jobs[0]+`"]}`).refused(t, http.StatusUnprocessableEntity)
	c.remove(t, "by-slot")
	for _, bad := range []struct{ spec, field string }{
		{`"testbed": "", "queue": ["a"]`, "testbed"},
		{`"testbed": "A b", "queue": ["a"]`, "testbed"},
		{`"testbed": "a"`, "queue"},
		{`"testbed": "a", "queue": ["a"], "slots": {"jobs": [{"job": "a", "slots": [0]}]}`, "slots"},
		{`"testbed": "a", "queue": ["a", "b/c/d"]`, "queue[1]"},
		{`"testbed": "a", "slots": {"jobs": []}`, "slots.jobs"},
		{`"testbed": "a", "slots": {"mode": "Loose", "jobs": [{"job": "a", "slots": [0]}]}`, "slots.mode"},
		{`"testbed": "a", "slots": {"jobs": [{"job": "a", "slots": []}]}`, "slots.jobs[0].slots"},
		{`"testbed": "a", "slots": {"jobs": [{"job": "a", "slots": [1, 2, 1]}]}`, "slots.jobs[0].slots[2]"},
		{`"testbed": "a", "slots": {"jobs": [{"job": "a", "slots": [1]}, {"job": "` + c.Namespace + `/a", "slots": [2]}]}`, "slots.jobs[1].job"},
		{`"testbed": "a", "queue": ["a"], "onFailure": "Wait"`, "onFailure"},
		{`"testbed": "a", "queue": ["a"], "ttlSecondsAfterFinished": -1`, "ttlSecondsAfterFinished"},
		{`"testbed": "a", "queue": ["a` + strings.Repeat(`", "a`, 5000) + `"]`, "queue"},
	} {
		c.post(t, c.Team, list, `{"name": "bad", `+bad.spec+`}`).refused(t, http.StatusUnprocessableEntity).names(t, bad.field)
	}
	c.post(t, c.Team, list, `{"testbed": "a", "queue": ["a"]}`).refused(t, http.StatusUnprocessableEntity).names(t, "name")
	for _, bad := range []string{
		``, `null x`, `[]`, `{"name": 5}`, `{"name": "bad", "unknown": 1}`,
		`{"name": "bad", "testbed": "a", "slots": {"jobs": [{"job": "a", "slots": ["x"]}]}}`,
		`{"name": "bad", "testbed": "a", "slots": {"jobs": [{"job": "a", "slots": [-1]}]}}`,
	} {
		c.post(t, c.Team, list, bad).refused(t, http.StatusBadRequest)
	}
	c.post(t, c.Team, list, `{"name": "`+strings.Repeat("x", 1<<20)+`"}`).refused(t, http.StatusRequestEntityTooLarge)
	c.get(t, c.Team, list+"/bad").refused(t, http.StatusNotFound)
}

// pages: what is there all the while is on one page, and on one alone, while others come
// and go.
func (c *contract) pages(t *testing.T) {
	list := c.in + "/schedulings"
	make := func(name string) {
		t.Helper()
		c.post(t, c.Team, list, `{"name": "`+name+`", "testbed": "`+c.Testbed+`", "queue": ["`+c.Jobs[0]+`"]}`).want(t, http.StatusCreated)
		until(t, func() bool { return c.get(t, c.Team, list+"/"+name).status == http.StatusOK })
	}
	stay := []string{"page-b", "page-d", "page-f", "page-h"}
	for _, name := range append([]string{"page-c"}, stay...) {
		make(name)
	}
	var seen []string
	token := ""
	for page := 0; page == 0 || token != ""; page++ {
		a := c.get(t, c.Team, list+"?limit=2&continue="+token).want(t, http.StatusOK)
		for _, one := range a.at("items").([]any) {
			seen = append(seen, one.(map[string]any)["name"].(string))
		}
		token, _ = a.at("continue").(string)
		switch page {
		case 0: // before and behind where the page ended, which itself goes
			c.remove(t, "page-c")
			make("page-a")
			make("page-g")
		case 20:
			t.Fatal("the pages have no end")
		}
	}
	if want := []string{"page-b", "page-c", "page-d", "page-f", "page-g", "page-h"}; !slices.Equal(seen, want) {
		t.Errorf("pages have %v, want %v", seen, want)
	}
	first := c.get(t, c.Team, list+"?limit=1").want(t, http.StatusOK).text("continue")
	c.get(t, c.Team, c.in+"/jobs?continue="+first).refused(t, http.StatusBadRequest, "continue")
	c.get(t, c.Viewer, c.v1+"/schedulings?continue="+first).refused(t, http.StatusBadRequest, "continue")
	for _, bad := range []string{"continue=x", "continue=" + first + "A", "limit=0", "limit=-1", "limit=x", "limit=1&limit=2", "pages=1"} {
		c.get(t, c.Team, list+"?"+bad).refused(t, http.StatusBadRequest)
	}
	for _, name := range append([]string{"page-a", "page-g"}, stay...) {
		c.remove(t, name)
	}
}

func (c *contract) overview(t *testing.T) {
	for path, token := range map[string]string{"/overview": c.Viewer, "/overview?namespace=" + c.Namespace: c.Team} {
		o := c.get(t, token, c.v1+path).want(t, http.StatusOK)
		find(t, o.at("testbeds"), c.Namespace, c.Testbed)
		find(t, o.at("jobs"), c.Namespace, c.Jobs[1])
		_, listed := o.at("schedulings").([]any)
		_, resumable := o.at("cursor").(string)
		o.wrongIf(t, !listed || !resumable)
	}
	c.get(t, c.Team, c.v1+"/overview").refused(t, http.StatusForbidden, "list")
}
