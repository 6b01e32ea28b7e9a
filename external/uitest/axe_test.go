package uitest

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/spazio-scheduler/spazio/external/server/servertest"
)

// axeSum is the sha256 of axe.min.js in npm's axe-core 4.14.1, which testdata has compressed.
const axeSum = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"

func axe(t *testing.T) string {
	t.Helper()
	f, err := os.Open("testdata/axe-core/axe.min.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	script, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(script); hex.EncodeToString(sum[:]) != axeSum {
		t.Fatal("testdata/axe-core is not axe-core 4.14.1")
	}
	return string(script)
}

// violation is a rule of axe that a page breaks, and where.
type violation struct {
	ID, Help string
	Nodes    []string
}

// All rules of axe hold on all pages, in both schemes, and in a narrow window.
func TestAxe(t *testing.T) {
	script := axe(t)
	bench := serve(t)
	large := testbedOf("default", "large", "rack", 40, 4)
	for i := range large.Slots {
		large.Slots[i].State = states[i%len(states)]
	}
	bench.Store.PutTestbed(large)
	b := open(t, bench.URL, 1280, 900)
	// The policy keeps the page from what axe does in it.
	call(b, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true})
	b.visit("login")
	check := func(what string) {
		t.Helper()
		for _, v := range look(b, script) {
			t.Errorf("%s: %s: %s\n\t%s", what, v.ID, v.Help, strings.Join(v.Nodes, "\n\t"))
		}
	}
	check("login")
	b.login(servertest.Admin)
	for _, look := range []struct {
		scheme string
		width  int64
	}{{"light", 1280}, {"light", 400}, {"dark", 1280}} {
		b.likes(look.scheme)
		b.do(chromedp.EmulateViewport(look.width, 900))
		for _, p := range append(pages, further...) {
			b.visit(p.path)
			if p.ready != "" {
				b.until(p.ready)
			}
			check(fmt.Sprintf("%s, %d wide, %s", look.scheme, look.width, p.name))
		}
	}
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("a[data-confirm]").click(); undefined`))
	check("confirm")
	b.hold("/ui/nowhere")
}

// further are pages beyond those that have screenshots.
var further = []struct{ name, path, ready string }{
	{"by slots", "build?testbed=default/large&form=slots&job=default/log-sort", `document.querySelector("#plan").dataset.state === "bad"`},
	{"nowhere", "nowhere", ``},
	{"delete", "schedulings/default/nightly/delete", ``},
	{"scheduling", "schedulings/default/nightly", live},
}

// look returns what axe finds.
func look(b *tab, script string) []violation {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](script + "; undefined"))
	return eval[[]violation](b, `axe.run().then((r) => r.violations.map((v) => ({ ID: v.id, Help: v.help, Nodes: v.nodes.map((n) => n.html + " " + n.failureSummary) })))`)
}
