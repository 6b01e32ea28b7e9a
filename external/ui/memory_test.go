package ui_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/external/server/servertest"
)

// TestAFormCostsLittleMemory: the answer to any form of a mebibyte from any sender takes less than
// 64 MiB.
func TestAFormCostsLittleMemory(t *testing.T) {
	const longest, most = 1 << 20, 64 << 20
	b := site(t)
	row := func(f url.Values, job, times, slots string) {
		f.Add("job", job)
		f.Add("times", times)
		f.Add("slots", slots)
	}
	build := func(form string, rows int, job, times, slots string) url.Values {
		f := url.Values{"op": {"plan"}, "name": {"s"}, "testbed": {"team/lab"}, "form": {form}, "mode": {"Strict"}}
		for range rows {
			row(f, job, times, slots)
		}
		return f
	}
	forms := map[string]struct {
		path string
		form url.Values
	}{
		"ranges":            {"build", build("slots", 1, "a", "", strings.Repeat("0-4999 ", 140_000))},
		"ranges in rows":    {"build", build("slots", 3000, "a", "", strings.Repeat("0-4999 ", 20))},
		"a range in rows":   {"build", build("slots", 3000, "a", "", "0-4999")},
		"slots":             {"build", build("slots", 1, "a", "", strings.Repeat("0 ", 400_000))},
		"times":             {"build", build("queue", 3000, strings.Repeat("a", 200), "5000", "")},
		"a long name":       {"build", build("queue", 1, strings.Repeat("a", 900_000), "5000", "")},
		"rows":              {"build", build("queue", 3300, "a", "1", "")},
		"no slots":          {"build", build("slots", 3000, "a", "", "x")},
		"a priority":        {"build", url.Values{"op": {"create"}, "priority": {strings.Repeat("9", 1_000_000)}}},
		"deep data":         {"jobs/team/a", url.Values{"external": {`{"a":` + strings.Repeat("[", 9990) + strings.Repeat("]", 9990) + "}"}}},
		"data of no length": {"jobs/team/a", url.Values{"external": {`{"a":[` + strings.Repeat("[],", 200_000) + "0]}"}}},
		"a token":           {"login", url.Values{"token": {strings.Repeat("x", 1_000_000)}}},
	}
	for name, c := range forms {
		for _, token := range []string{"", servertest.Team} {
			body := c.form.Encode()
			if len(body) > 3*longest {
				t.Fatalf("%s: %d bytes", name, len(body))
			}
			// Other allocations of the process are not the form's, so the least value counts.
			took, code, length := uint64(math.MaxUint64), 0, 0
			for range 3 {
				r := httptest.NewRequest(http.MethodPost, "/ui/"+c.path, strings.NewReader(body))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				r.Header.Set("Authorization", "Bearer "+token)
				answer := httptest.NewRecorder()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				b.Server.ServeHTTP(answer, r)
				runtime.ReadMemStats(&after)
				took = min(took, after.TotalAlloc-before.TotalAlloc)
				code, length = max(code, answer.Code), answer.Body.Len()
			}
			if took > most || code >= 500 {
				t.Errorf("%s of %q: %d MiB for an answer of %d with %d bytes", name, token, took>>20, code, length)
			}
		}
	}
}
