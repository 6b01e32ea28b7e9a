package browser

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Hostile names are text, whether they existed or come later, break no page, and do not affect the
// direction of other text.
func TestUIHostileNames(t *testing.T) {
	bench := serve(t)
	names := []string{
		`<img src=x onerror="window.harmed=1">`,
		"\u202etxt.exe\u2066 right to left עברית",
		strings.Repeat("long-", 50) + "253",
	}
	put := func(i int, suffix string) {
		name, rank := names[i]+suffix, 100+i
		bench.Store.PutSlot("default", "profiling", wire.Slot{ID: name + "/0", Index: 6 + i, Node: name, NodeID: &rank, State: slot.Reserved, ReservedFor: "default/" + name})
		bench.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "default", Name: name}, Kind: name, State: name, Reason: name, ActiveScheduling: "javascript:window.harmed=1//" + name})
		bench.Store.PutScheduling(wire.Scheduling{Meta: wire.Meta{Namespace: "default", Name: name}, State: name, Author: name,
			SchedulingSpec: wire.SchedulingSpec{Testbed: name, Queue: []string{name}}, Jobs: []wire.SchedulingJob{{Job: name, Slots: []string{name}}}})
	}
	for i := range names {
		put(i, "")
	}
	b := open(t, bench.URL, 1280, 900)
	b.login(servertest.Admin)
	b.visit("")
	b.Until(live)
	for i := range names {
		put(i, "-later")
	}
	last, err := json.Marshal("default/" + names[2] + "-later")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"schedulings", "jobs"} {
		b.Until(`[...document.querySelectorAll('[data-list="` + list + `"] a[data-f="name"]')].some((a) => a.textContent === ` + string(last) + `)`)
	}
	b.Until(`document.querySelectorAll("td[data-slot]").length === 24 + 6 + 6`)
	for _, name := range names {
		for _, text := range []string{name, name + "-later"} {
			want, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			if !eval[bool](b, `[...document.querySelectorAll("table.grid tbody th bdi")].some((e) => e.textContent === `+string(want)+`)`) {
				t.Errorf("got no node named %q", text)
			}
			if n := eval[int](b, `[...document.querySelectorAll('[data-list="jobs"] a[data-f="name"]')].filter((e) => e.textContent === "default/" + `+string(want)+`).length`); n != 1 {
				t.Errorf("got %d jobs named %q", n, text)
			}
		}
	}
	checkUnharmed(b)

	// A name's direction affects only itself: its surroundings are isolated.
	if n := eval[int](b, `[...document.querySelectorAll("table.grid tbody bdi, table.list tbody bdi")].filter((e) => getComputedStyle(e).unicodeBidi !== "isolate").length`); n != 0 {
		t.Errorf("got %d names without isolation", n)
	}
	for _, path := range []string{"build?testbed=default/profiling", "matrix", "schedulings/default/nightly", "jobs/default/kmeans"} {
		b.visit(path)
		checkUnharmed(b)
	}
	b.Hold()
}

func checkUnharmed(b tab) {
	b.T.Helper()
	if got := eval[string](b, `[document.images.length, window.harmed, [...document.links].filter((a) => a.protocol !== "http:" && a.getAttribute("href")).length].join()`); got != "0,,0" {
		b.T.Errorf("got pictures, injected code or external links: %s", got)
	}
	if wide := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
		b.T.Errorf("%s: got %d pixels too much width: %s", eval[string](b, `location.pathname`), wide, eval[string](b, `[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth && !e.closest(".scroll, .unseen")).map((e) => e.outerHTML.slice(0, 150)).join("\n")`))
	}
}
