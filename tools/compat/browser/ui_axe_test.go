package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/spazio-scheduler/spazio/external/server/servertest"
)

// All rules of axe pass on all pages, in both colour schemes, and in a narrow window.
func TestUIAxe(t *testing.T) {
	bench := serve(t)
	large := testbedOf("default", "large", "rack", 40, 4)
	for i := range large.Slots {
		large.Slots[i].State = states[i%len(states)]
	}
	bench.Store.PutTestbed(large)
	b := open(t, bench.URL, 1280, 900)
	b.LetAxe()
	b.visit("login")
	b.Axe("login")
	b.login(servertest.Admin)
	for _, look := range []struct {
		scheme string
		width  int64
	}{{"light", 1280}, {"light", 400}, {"dark", 1280}} {
		b.Likes(look.scheme)
		b.Do(chromedp.EmulateViewport(look.width, 900))
		for _, p := range append(pages, further...) {
			b.visit(p.path)
			if p.ready != "" {
				b.Until(p.ready)
			}
			b.Axe(fmt.Sprintf("%s, %d wide, %s", look.scheme, look.width, p.name))
		}
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("a[data-confirm]").click(); undefined`))
	b.Axe("confirm")
	b.Hold("/ui/nowhere")
}

// further are pages without screenshots.
var further = []struct{ name, path, ready string }{
	{"by slots", "build?testbed=default/large&form=slots&job=default/log-sort", `document.querySelector("#plan").dataset.state === "bad"`},
	{"nowhere", "nowhere", ``},
	{"delete", "schedulings/default/nightly/delete", ``},
	{"scheduling", "schedulings/default/nightly", live},
}
