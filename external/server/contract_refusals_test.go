package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// row is a row of the interface with a request that would be carried out.
type row struct {
	method, pattern, path, body, kind string
	// right are the words by which a refusal names what is missing; a row without any
	// takes a token alone.
	right []string
}

// rows are all of /external/v1 that take a token, except the watch.
func (c *contract) rows() []row {
	scheduling := `{"name": "refused", "testbed": "` + c.Testbed + `", "queue": ["` + c.Jobs[0] + `"]}`
	in := c.v1 + "/namespaces/{namespace}"
	rows := []row{
		{method: "GET", pattern: c.v1 + "/testbeds", right: []string{"list", "testbeds"}},
		{method: "GET", pattern: c.v1 + "/jobs", right: []string{"list", "jobs"}},
		{method: "GET", pattern: c.v1 + "/schedulings", right: []string{"list", "schedulings"}},
		{method: "GET", pattern: in + "/testbeds", right: []string{"list", "testbeds"}},
		{method: "GET", pattern: in + "/jobs", right: []string{"list", "jobs"}},
		{method: "GET", pattern: in + "/schedulings", right: []string{"list", "schedulings"}},
		{method: "GET", pattern: in + "/testbeds/{name}", path: c.in + "/testbeds/" + c.Testbed, right: []string{"get", "testbeds"}},
		{method: "GET", pattern: in + "/testbeds/{name}/slots", path: c.in + "/testbeds/" + c.Testbed + "/slots", right: []string{"get", "testbeds"}},
		{method: "GET", pattern: in + "/jobs/{name}", path: c.in + "/jobs/" + c.Jobs[0], right: []string{"get", "jobs"}},
		{method: "PUT", pattern: in + "/jobs/{name}/external", path: c.in + "/jobs/" + c.Jobs[0] + "/external", body: `{"refused": 1}`, right: []string{"update", "jobs/external"}},
		{method: "PATCH", pattern: in + "/jobs/{name}/external", path: c.in + "/jobs/" + c.Jobs[0] + "/external", body: `{"refused": 1}`, kind: mergePatch, right: []string{"patch", "jobs/external"}},
		{method: "POST", pattern: in + "/schedulings", body: scheduling, right: []string{"create", "schedulings"}},
		{method: "GET", pattern: in + "/schedulings/{name}", path: c.in + "/schedulings/kept", right: []string{"get", "schedulings"}},
		{method: "PUT", pattern: in + "/schedulings/{name}", path: c.in + "/schedulings/kept", body: strings.Replace(scheduling, "refused", "kept", 1), right: []string{"update", "schedulings"}},
		{method: "DELETE", pattern: in + "/schedulings/{name}", path: c.in + "/schedulings/kept", right: []string{"delete", "schedulings"}},
		{method: "GET", pattern: c.v1 + "/overview", right: []string{"list"}},
		{method: "GET", pattern: c.v1 + "/openapi.json"},
		{method: "GET", pattern: c.v1 + "/session"},
	}
	for i := range rows {
		if rows[i].path == "" {
			rows[i].path = strings.Replace(rows[i].pattern, in, c.in, 1)
		}
	}
	return rows
}

// seedRows are the paths of the thesis.
func (c *contract) seedRows() []row {
	if !c.Seed {
		return nil
	}
	scheduling := `{"name": "refused", "testBed": "` + c.Testbed + `", "queue": ["` + c.Jobs[0] + `"]}`
	rows := []row{
		{method: "GET", path: "/external/testbeds", right: []string{"list", "testbeds"}},
		{method: "GET", path: "/external/testbeds/" + c.Testbed, right: []string{"get", "testbeds"}},
		{method: "GET", path: "/external/jobs", right: []string{"list", "jobs"}},
		{method: "GET", path: "/external/jobs/" + c.Jobs[0], right: []string{"get", "jobs"}},
		{method: "PUT", path: "/external/jobs/", body: `{"name": "` + c.Jobs[0] + `", "externalScheduler": {"refused": []}}`, right: []string{"update", "jobs/external"}},
		{method: "GET", path: "/external/schedulings", right: []string{"list", "schedulings"}},
		{method: "POST", path: "/external/schedulings", body: scheduling, right: []string{"create", "schedulings"}},
		{method: "GET", path: "/external/schedulings/kept", right: []string{"get", "schedulings"}},
		{method: "DELETE", path: "/external/schedulings/kept", right: []string{"delete", "schedulings"}},
	}
	return rows
}

// refusals: whoever shows no token, or one that is not for the interface, has no right, or
// is a page from elsewhere, gets nothing, and nothing is written.
func (c *contract) refusals(t *testing.T) {
	c.post(t, c.Team, c.in+"/schedulings", `{"name": "kept", "testbed": "`+c.Testbed+`", "queue": ["`+c.Jobs[0]+`"], "priority": 1}`).want(t, http.StatusCreated)
	until(t, func() bool { return c.get(t, c.Viewer, c.in+"/schedulings/kept").status == http.StatusOK })
	before := c.written(t)
	for _, row := range append(c.rows(), c.seedRows()...) {
		t.Run(row.method+row.path, func(t *testing.T) {
			r := request{method: row.method, path: row.path, body: row.body, kind: row.kind}
			for _, r.token = range []string{"", c.Unknown, c.Expired, c.Foreign, "not\ta token"} {
				c.do(t, r).refused(t, http.StatusUnauthorized)
			}
			r.token = ""
			for _, header := range []http.Header{{"Authorization": {"Basic " + c.Team}}, {"Authorization": {c.Team}}, {"Cookie": {"spazio-session=" + c.Unknown}}} {
				r.header = header
				c.do(t, r).refused(t, http.StatusUnauthorized)
			}
			if r.header, r.token = nil, c.Nothing; row.right != nil {
				c.do(t, r).refused(t, http.StatusForbidden, row.right...)
			}
			r.token = c.Admin
			for _, origin := range []string{"https://elsewhere.example", "null", "http://127.0.0.1:1", strings.Replace(c.URL, "://", "://x.", 1)} {
				r.header = http.Header{"Origin": {origin}}
				c.do(t, r).refused(t, http.StatusForbidden)
			}
			r.header, r.method = nil, "TRACE"
			allow := c.do(t, r).refused(t, http.StatusMethodNotAllowed).header.Get("Allow")
			if !slices.Contains(strings.Split(allow, ", "), row.method) {
				t.Errorf("Allow: %s", allow)
			}
		})
	}
	for _, path := range []string{c.v1, c.v1 + "/", c.v1 + "/nodes", c.v1 + "/testbeds/x", c.in, c.in + "/jobs/x/y", "/external/v2/jobs", "/external"} {
		c.get(t, c.Admin, path).refused(t, http.StatusNotFound)
	}
	c.get(t, c.Admin, c.v1+"/namespaces/Not_A_Name/jobs").refused(t, http.StatusNotFound)
	c.get(t, c.Admin, c.in+"/jobs/Not_A_Name").refused(t, http.StatusNotFound)
	c.get(t, c.Admin, c.v1+"/jobs?namespace=Not_A_Name").refused(t, http.StatusBadRequest, "namespace")
	if after := c.written(t); !slices.Equal(after, before) {
		t.Errorf("written:\n%s\nbefore:\n%s", after, before)
	}
	c.remove(t, "kept")
}

// written is what the interface can write: what is kept in the jobs, and which schedulings
// there are. It first writes something itself and waits for it, so that nothing written
// before can be seen later.
func (c *contract) written(t *testing.T) []string {
	t.Helper()
	c.post(t, c.Admin, c.in+"/schedulings", `{"name": "fence", "testbed": "`+c.Testbed+`", "queue": ["`+c.Jobs[1]+`"]}`).want(t, http.StatusCreated)
	until(t, func() bool { return c.get(t, c.Admin, c.in+"/schedulings/fence").status == http.StatusOK })
	c.remove(t, "fence")
	fence := c.put(t, c.Admin, c.in+"/jobs/"+c.Jobs[1]+"/external", `{"fence": true}`).want(t, http.StatusOK)
	until(t, func() bool {
		return c.get(t, c.Admin, c.in+"/jobs/"+c.Jobs[1]).is(t, encode(t, fence.at("externalScheduler")), "externalScheduler")
	})
	c.put(t, c.Admin, c.in+"/jobs/"+c.Jobs[1]+"/external", `{}`).want(t, http.StatusOK)
	until(t, func() bool {
		return !c.get(t, c.Admin, c.in+"/jobs/"+c.Jobs[1]).is(t, `{"fence":true}`, "externalScheduler")
	})
	var all []string
	for _, one := range c.get(t, c.Admin, c.in+"/schedulings").want(t, http.StatusOK).at("items").([]any) {
		o := one.(map[string]any)
		all = append(all, encode(t, []any{o["name"], o["uid"], o["priority"], o["queue"], o["slots"], o["deleting"]}))
	}
	for _, name := range c.Jobs {
		all = append(all, encode(t, c.get(t, c.Admin, c.in+"/jobs/"+name).want(t, http.StatusOK).at("externalScheduler")))
	}
	return all
}

// session: a token becomes a cookie, which is as good as the token, but not to a page from
// elsewhere.
func (c *contract) session(t *testing.T) {
	path := c.v1 + "/session"
	login := c.post(t, "", path, `{"token": "`+c.Team+`"}`).want(t, http.StatusOK)
	cookies := (&http.Response{Header: login.header}).Cookies()
	if len(cookies) != 1 {
		t.Fatalf("cookies: %v", cookies)
	}
	cookie := cookies[0]
	secure := strings.HasPrefix(c.URL, "https:")
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Secure != secure || cookie.Path != "/" || cookie.Domain != "" ||
		strings.HasPrefix(cookie.Name, "__Host-") != secure {
		t.Errorf("cookie %v", cookie)
	}
	shown := http.Header{"Cookie": {cookie.Name + "=" + cookie.Value}}
	who := c.do(t, request{method: http.MethodGet, path: path, header: shown}).want(t, http.StatusOK)
	who.wrongIf(t, who.text("user") == "" || who.text("user") != login.text("user"))
	c.do(t, request{method: http.MethodGet, path: c.in + "/jobs", header: shown}).want(t, http.StatusOK)
	body := `{"name": "forged", "testbed": "` + c.Testbed + `", "queue": ["` + c.Jobs[0] + `"]}`
	for _, forged := range []http.Header{{"Origin": {"https://elsewhere.example"}}, {"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}} {
		forged.Set("Cookie", shown.Get("Cookie"))
		c.do(t, request{method: http.MethodPost, path: c.in + "/schedulings", body: body, header: forged}).refused(t, http.StatusForbidden)
	}
	c.do(t, request{method: http.MethodPut, path: c.in + "/jobs/" + c.Jobs[0] + "/external", body: `{"from": "session"}`,
		header: http.Header{"Cookie": shown["Cookie"], "Origin": {c.URL}, "Sec-Fetch-Site": {"same-origin"}}}).want(t, http.StatusOK)
	c.put(t, c.Team, c.in+"/jobs/"+c.Jobs[0]+"/external", `{}`).want(t, http.StatusOK)
	out := c.delete(t, "", path).want(t, http.StatusNoContent)
	if gone := (&http.Response{Header: out.header}).Cookies(); len(gone) != 1 || gone[0].Name != cookie.Name || gone[0].Value != "" || gone[0].MaxAge >= 0 {
		t.Errorf("cookies after the end: %v", gone)
	}
	for _, token := range []string{"", c.Unknown, c.Expired, c.Foreign} {
		c.post(t, "", path, `{"token": "`+token+`"}`).refused(t, http.StatusUnauthorized)
	}
	c.post(t, "", path, `{"token": "`+strings.Repeat("x", 4000)+`"}`).refused(t, http.StatusUnprocessableEntity).names(t, "token")
	c.get(t, "", path).refused(t, http.StatusUnauthorized)
	c.get(t, c.Team, c.in+"/schedulings/forged").refused(t, http.StatusNotFound)
}

func (c *contract) description(t *testing.T) {
	is := c.get(t, c.Nothing, c.v1+"/openapi.json").want(t, http.StatusOK)
	paths, _ := is.at("paths").(map[string]any)
	is.wrongIf(t, !strings.HasPrefix(is.text("openapi"), "3.1."))
	for _, row := range c.rows() {
		methods, _ := paths[row.pattern].(map[string]any)
		if methods[strings.ToLower(row.method)] == nil {
			t.Errorf("%s %s is not described", row.method, row.pattern)
		}
	}
}
