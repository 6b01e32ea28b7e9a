package server_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/external/server/servertest"
)

// mebibyte is the longest body by default.
const mebibyte = 1 << 20

// shapes are bodies of a mebibyte that are large once they are parsed, or tempt a server to
// quadratic work. Each is a JSON object once it is closed.
func shapes() map[string]string {
	fill := func(head, one, tail string) string {
		return head + strings.Repeat(one, (mebibyte-len(head)-len(tail))/len(one)) + tail
	}
	listed := func(head, one, tail string) string {
		return strings.Replace(fill(head, one+",", "")+tail, ","+tail, tail, 1)
	}
	keys := func(format string) string {
		var b strings.Builder
		b.WriteByte('{')
		for i := 0; b.Len() < mebibyte-40; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, format, i)
		}
		b.WriteByte('}')
		return b.String()
	}
	nested := func(open, end string, depth int) string {
		return strings.Repeat(open, depth) + "1" + strings.Repeat(end, depth)
	}
	long := strings.Repeat("k", 95)
	return map[string]string{
		"9,990 objects inside one another": nested(`{"`+long+`":`, "}", 9990),
		"short keys inside one another":    nested(`{"a":`, "}", 150_000),
		"arrays inside one another":        `{"a":` + nested("[", "]", 500_000) + "}",
		"open arrays":                      `{"a":` + strings.Repeat("[", mebibyte-10),
		"arrays beside one another":        listed(`{"a":[`, "[]", "]}"),
		"objects beside one another":       listed(`{"a":[`, `{"":0}`, "]}"),
		"empty objects":                    listed(`{"a":[`, `{}`, "]}"),
		"numbers":                          listed(`{"a":[`, "0", "]}"),
		"nulls":                            listed(`{"a":[`, "null", "]}"),
		"strings":                          listed(`{"a":[`, `""`, "]}"),
		"keys":                             keys(`"%d":0`),
		"keys of objects":                  keys(`"%d":{"":{}}`),
		"one key again and again":          listed("{", `"a":0`, "}"),
		"one empty key again and again":    listed("{", `"":{}`, "}"),
		"a long string":                    fill(`{"a":"`, "x", `"}`),
		"a string of escapes":              fill(`{"a":"`, `\u0001`, `"}`),
		"a string of halves":               fill(`{"a":"`, `\ud800`, `"}`),
		"a string of tags":                 fill(`{"a":"`, `<`, `"}`),
		"a long key":                       fill(`{"`, "k", `":1}`),
		"a long number":                    fill(`{"a":`, "9", `}`),
		"a long fraction":                  fill(`{"a":0.`, "9", `}`),
		"numbers too large":                listed(`{"a":[`, "1e999", "]}"),
		"number too large, far below":      strings.Repeat(`{"`+strings.Repeat("k", 30_000)+`":`, 30) + "1e999" + strings.Repeat("}", 30),
		"blanks":                           fill(`{`, " ", `}`),
		"a queue of one job":               listed(`{"name":"s","testbed":"bed","queue":[`, `"job-a"`, "]}"),
		"a queue of nobody":                listed(`{"name":"s","testbed":"bed","queue":[`, `""`, "]}"),
		"a queue of a long name":           fill(`{"name":"s","testbed":"bed","queue":["`, "a", `"]}`),
		"a test bed of a long name":        fill(`{"name":"s","queue":["a"],"testbed":"`, "a/", `"}`),
		"slots":                            listed(`{"name":"s","testbed":"bed","slots":{"jobs":[{"job":"a","slots":[`, "0", "]}]}}"),
		"slots that are none":              listed(`{"name":"s","testbed":"bed","slots":{"jobs":[{"job":"a","slots":[`, "-1", "]}]}}"),
		"jobs without slots":               listed(`{"name":"s","testbed":"bed","slots":{"jobs":[`, "{}", "]}}"),
		"conditions":                       listed(`{"name":"s","testbed":"bed","queue":["a"],"conditions":[`, "{}", "]}"),
		"jobs of a state":                  listed(`{"name":"s","testbed":"bed","queue":["a"],"jobs":[`, "{}", "]}"),
		"data of a job":                    listed(`{"name":"job-a","externalScheduler":{"a":[`, "0", "]}}"),
		"data of a job, deep":              `{"name":"job-a","externalScheduler":` + nested(`{"`+long+`":`, "}", 9990) + "}",
		"another's fields":                 listed(`{"name":"job-a","metadata":{"managedFields":[`, `{"f:a":{}}`, "]}}"),
		"a token":                          fill(`{"token":"`, "x", `"}`),
	}
}

// TestABodyCostsLittleMemory: parsing and answering any body of a mebibyte takes less than 64 MiB,
// garbage included.
func TestABodyCostsLittleMemory(t *testing.T) {
	const most = 64 << 20
	requests := []struct{ method, path, mediaType string }{
		{http.MethodPut, "/external/v1/namespaces/team/jobs/job-a/external", "application/json"},
		{http.MethodPatch, "/external/v1/namespaces/team/jobs/job-a/external", "application/merge-patch+json"},
		{http.MethodPost, "/external/v1/namespaces/team/schedulings", "application/json"},
		{http.MethodPost, "/external/v1/namespaces/team/schedulings?dryRun=All", "application/json"},
		{http.MethodPut, "/external/v1/namespaces/team/schedulings/s", "application/json"},
		{http.MethodPost, "/external/v1/session", "application/json"},
		{http.MethodPut, "/external/jobs", "application/json"},
		{http.MethodPost, "/external/schedulings", "application/json"},
	}
	b := servertest.Start(t, unlimited)
	b.Fill()
	for name, body := range shapes() {
		data := []byte(body)
		for _, r := range requests {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			answer := sent(b, r.method, r.path, r.mediaType, data)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("%s, %s %s: %d MiB for an answer of %d", name, r.method, r.path, took>>20, answer.Code)
			}
			if answer.Code >= 500 || answer.Body.Len() > 64<<10 {
				t.Errorf("%s, %s %s: %d, %d bytes", name, r.method, r.path, answer.Code, answer.Body.Len())
			}
		}
	}
}
