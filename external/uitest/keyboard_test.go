package uitest

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// tabTo presses Tab until the focus is on what the selector names. Each stop on the way
// must show that it has the focus.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	b.walk(selector)
}

// backTo is tabTo in the other direction.
func (b *tab) backTo(selector string) {
	b.t.Helper()
	b.walk(selector, chromedp.KeyModifiers(chromedp.ModifierShift))
}

func (b *tab) walk(selector string, with ...chromedp.KeyOption) {
	b.t.Helper()
	const most = 200
	var stops []string
	for range most {
		b.do(chromedp.KeyEvent(kb.Tab, with...))
		at := eval[struct {
			There, Visible bool
			What           string
		}](b, `(() => {
			const e = document.activeElement, style = getComputedStyle(e);
			return { There: e.matches(`+"`"+selector+"`"+`), Visible: e === document.body || style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2, What: e.tagName + " " + e.id + " " + (e.name ?? "") };
		})()`)
		stops = append(stops, at.What)
		if !at.Visible {
			b.t.Errorf("the focus on %s cannot be seen", at.What)
		}
		if at.There {
			return
		}
	}
	b.t.Fatalf("Tab does not lead to %s but to %q", selector, stops)
}

// A person without a mouse logs in, creates a scheduling of slots, and deletes it again.
func TestKeyboardAlone(t *testing.T) {
	bench := serve(t)
	b := open(t, bench.URL, 1280, 900)
	b.visit("")
	b.tabTo("#token")
	b.press(servertest.Admin, kb.Enter)
	b.until(`location.pathname === "/ui/" && document.body.dataset.page === "overview"`)

	b.press(kb.Tab)
	if got := eval[string](b, `document.activeElement.textContent`); got != "Skip to content" {
		t.Errorf("the first stop is %q", got)
	}
	b.tabTo(`nav a[href="/ui/build"]`)
	b.press(kb.Enter)
	b.until(`document.body.dataset.page === "build" && document.querySelector("#freshness").dataset.link === "live"`)

	b.tabTo("#testbed")
	b.press(kb.ArrowDown)
	b.until(`document.querySelector("#picker").dataset.testbed === "default/profiling" && document.querySelectorAll("#picker td[data-slot]").length === 6`)
	b.tabTo("#name")
	b.do(chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.press("by-hand")
	b.tabTo("#by-queue")
	b.press(kb.ArrowDown)
	b.until(`document.querySelector("#by-slots").checked`)
	b.tabTo(`.entry select[name="job"]`)
	b.press(kb.ArrowDown, kb.ArrowDown, kb.ArrowDown) // letters count as one word only if they come fast
	if got := eval[string](b, `document.activeElement.value`); got != "default/log-sort" {
		t.Errorf("the third job is %q", got)
	}
	b.tabTo("#picker td")
	// From small-00/0: right, down, give; up, left, give and take back; the plan follows.
	b.press(kb.ArrowRight, kb.ArrowDown, " ", kb.ArrowUp, kb.ArrowLeft, " ", " ", kb.End, kb.ArrowDown, kb.ArrowDown, kb.Enter)
	b.until(`document.querySelector('[data-list="plan"]').textContent.includes("small-02/1")`)
	want := map[string]string{"small-01/1": "1", "small-02/1": "1"}
	if diff := cmp.Diff(want, eval[map[string]string](b, `Object.fromEntries([...document.querySelectorAll("#picker td[data-entry]")].map((c) => [c.dataset.slot, c.dataset.entry]))`)); diff != "" {
		t.Error(diff)
	}
	if n := eval[int](b, `document.querySelectorAll('#picker td[tabindex="0"]').length`); n != 1 {
		t.Errorf("the grid has %d stops", n)
	}
	b.backTo(`button[value="create"]`)
	b.press(kb.Enter)
	b.until(`location.pathname === "/ui/schedulings/default/by-hand" && document.readyState === "complete"`)
	got, err := bench.Store.Scheduling(t.Context(), "default", "by-hand")
	spec := wire.SchedulingSpec{Testbed: "default/profiling", Confirm: "None", OnFailure: "Continue", Slots: &wire.SlotBased{Mode: "Strict", Jobs: []wire.SlotJob{
		{Job: "default/log-sort", Slots: []slot.Ref{{ID: slot.ID{Node: "small-01", Position: 1}}, {ID: slot.ID{Node: "small-02", Position: 1}}}},
	}}}
	if diff := cmp.Diff(spec, got.SchedulingSpec); err != nil || diff != "" {
		t.Error(err, diff)
	}

	b.until(`document.querySelector("#freshness").dataset.link === "live"`)
	b.tabTo(`a[data-confirm="Delete"]`)
	b.press(kb.Enter)
	b.until(`document.querySelector("#confirm").open && document.activeElement.id === "confirm-title"`)
	if title := eval[string](b, `document.querySelector("#confirm-title").textContent`); title != "Delete default/by-hand?" {
		t.Error(title)
	}
	b.press(kb.Escape)
	b.until(`!document.querySelector("#confirm").open && document.activeElement.matches('a[data-confirm="Delete"]')`)
	if _, err := bench.Store.Scheduling(t.Context(), "default", "by-hand"); err != nil {
		t.Fatal("deleted though it was to be kept:", err)
	}
	b.press(kb.Enter)
	b.until(`document.activeElement.id === "confirm-title"`)
	b.tabTo("#confirm-yes")
	b.press(kb.Enter)
	b.until(`location.pathname === "/ui/" && document.body.textContent.includes("is being deleted")`)
	if _, err := bench.Store.Scheduling(t.Context(), "default", "by-hand"); err == nil {
		t.Error("it is still there")
	}
	b.hold()
}

// In a large test bed the arrow keys go where the eye does, though rows lie beside each other.
func TestArrowsInDenseGrid(t *testing.T) {
	bench := servertest.Start(t, withUI)
	bench.Store.PutTestbed(testbedOf("default", "large", "n", 60, 4))
	b := open(t, bench.URL, 1280, 900)
	b.login(servertest.Viewer)
	b.visit("")
	b.tabTo("table.grid td")
	at := func() string { return eval[string](b, `document.activeElement.dataset.slot`) }
	across := eval[int](b, `(() => { const rows = document.querySelectorAll("table.grid tbody tr"); return [...rows].filter((r) => r.offsetTop === rows[0].offsetTop).length })()`)
	if across < 2 || across > 8 {
		t.Fatalf("%d nodes beside each other", across)
	}
	node := func(n int) string { return "n-" + string(rune('0'+n/10)) + string(rune('0'+n%10)) }
	for _, step := range []struct{ keys, want string }{
		{"", node(0) + "/0"}, {kb.ArrowRight, node(0) + "/1"}, {kb.ArrowDown, node(across) + "/1"}, {kb.End, node(across) + "/3"},
		{kb.ArrowRight, node(across+1) + "/0"}, {kb.ArrowLeft, node(across) + "/3"}, {kb.ArrowUp, node(0) + "/3"}, {kb.ArrowUp, node(0) + "/3"},
		{kb.Home, node(0) + "/0"}, {kb.ArrowLeft, node(0) + "/0"}, {kb.PageDown, node(min(59, 10*across)) + "/0"},
	} {
		if step.keys != "" {
			b.press(step.keys)
		}
		if got := at(); got != step.want {
			t.Errorf("%q leads to %s, want %s", step.keys, got, step.want)
		}
	}
	b.do(chromedp.KeyEvent(kb.End, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	if got := at(); got != "n-59/3" {
		t.Error(got)
	}
	b.do(chromedp.KeyEvent(kb.Home, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	if got := at(); got != "n-00/0" {
		t.Error(got)
	}
	b.until(`document.querySelector('[data-f="detail"]').textContent.startsWith("n-00/0 · slot 0 · free")`) // once the watch has told
	b.press(kb.Tab)
	if inside := eval[bool](b, `document.activeElement.closest("table.grid") !== null`); inside {
		t.Error("Tab stays in the grid")
	}
	b.hold()
}
