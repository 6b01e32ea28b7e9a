package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// A person without a mouse logs in, creates a scheduling of slots, and deletes it again.
func TestUIKeyboardAlone(t *testing.T) {
	bench := serve(t)
	b := open(t, bench.URL, 1280, 900)
	b.visit("")
	b.TabTo("#token")
	b.Press(servertest.Admin, kb.Enter)
	b.Until(`location.pathname === "/ui/" && document.body.dataset.page === "overview"`)

	b.Press(kb.Tab)
	if got := eval[string](b, `document.activeElement.textContent`); got != "Skip to content" {
		t.Errorf("got first stop %q", got)
	}
	b.TabTo(`nav a[href="/ui/build"]`)
	b.Press(kb.Enter)
	b.Until(`document.body.dataset.page === "build" && document.querySelector("#freshness").dataset.link === "live"`)

	b.TabTo("#testbed")
	b.Press(kb.ArrowDown)
	b.Until(`document.querySelector("#picker").dataset.testbed === "default/profiling" && document.querySelectorAll("#picker td[data-slot]").length === 6`)
	b.TabTo("#name")
	b.Do(chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.Press("by-hand")
	b.TabTo("#by-queue")
	b.Press(kb.ArrowDown)
	b.Until(`document.querySelector("#by-slots").checked`)
	b.TabTo(`.entry select[name="job"]`)
	b.Press(kb.ArrowDown, kb.ArrowDown, kb.ArrowDown) // letters form one word only if they arrive fast
	if got := eval[string](b, `document.activeElement.value`); got != "default/log-sort" {
		t.Errorf("got third job %q", got)
	}
	b.TabTo("#picker td")
	// From small-00/0: right, down, assign; up, left, assign and undo; the plan follows.
	b.Press(kb.ArrowRight, kb.ArrowDown, " ", kb.ArrowUp, kb.ArrowLeft, " ", " ", kb.End, kb.ArrowDown, kb.ArrowDown, kb.Enter)
	b.Until(`document.querySelector('[data-list="plan"]').textContent.includes("small-02/1")`)
	want := map[string]string{"small-01/1": "1", "small-02/1": "1"}
	if diff := cmp.Diff(want, eval[map[string]string](b, `Object.fromEntries([...document.querySelectorAll("#picker td[data-entry]")].map((c) => [c.dataset.slot, c.dataset.entry]))`)); diff != "" {
		t.Error(diff)
	}
	if n := eval[int](b, `document.querySelectorAll('#picker td[tabindex="0"]').length`); n != 1 {
		t.Errorf("got %d stops of the grid", n)
	}
	b.BackTo(`button[value="create"]`)
	b.Press(kb.Enter)
	b.Until(`location.pathname === "/ui/schedulings/default/by-hand" && document.readyState === "complete"`)
	got, err := bench.Store.Scheduling(t.Context(), "default", "by-hand")
	spec := wire.SchedulingSpec{Testbed: "default/profiling", Confirm: "None", OnFailure: "Continue", Slots: &wire.SlotBased{Mode: "Strict", Jobs: []wire.SlotJob{
		{Job: "default/log-sort", Slots: []slot.Ref{{ID: slot.ID{Node: "small-01", Position: 1}}, {ID: slot.ID{Node: "small-02", Position: 1}}}},
	}}}
	if diff := cmp.Diff(spec, got.SchedulingSpec); err != nil || diff != "" {
		t.Error(err, diff)
	}

	b.Until(`document.querySelector("#freshness").dataset.link === "live"`)
	b.TabTo(`a[data-confirm="Delete"]`)
	b.Press(kb.Enter)
	b.Until(`document.querySelector("#confirm").open && document.activeElement.id === "confirm-title"`)
	if title := eval[string](b, `document.querySelector("#confirm-title").textContent`); title != "Delete default/by-hand?" {
		t.Error(title)
	}
	b.Press(kb.Escape)
	b.Until(`!document.querySelector("#confirm").open && document.activeElement.matches('a[data-confirm="Delete"]')`)
	if _, err := bench.Store.Scheduling(t.Context(), "default", "by-hand"); err != nil {
		t.Fatal("deleted without confirmation:", err)
	}
	b.Press(kb.Enter)
	b.Until(`document.activeElement.id === "confirm-title"`)
	b.TabTo("#confirm-yes")
	b.Press(kb.Enter)
	b.Until(`location.pathname === "/ui/" && document.body.textContent.includes("is being deleted")`)
	if _, err := bench.Store.Scheduling(t.Context(), "default", "by-hand"); err == nil {
		t.Error("it still exists")
	}
	b.Hold()
}

// In a large test bed the arrow keys follow the visual order, although rows are beside each other.
func TestUIArrowsInDenseGrid(t *testing.T) {
	bench := servertest.Start(t, withUI)
	bench.Store.PutTestbed(testbedOf("default", "large", "n", 60, 4))
	b := open(t, bench.URL, 1280, 900)
	b.login(servertest.Viewer)
	b.visit("")
	b.TabTo("table.grid td")
	at := func() string { return eval[string](b, `document.activeElement.dataset.slot`) }
	across := eval[int](b, `(() => { const rows = document.querySelectorAll("table.grid tbody tr"); return [...rows].filter((r) => r.offsetTop === rows[0].offsetTop).length })()`)
	if across < 2 || across > 8 {
		t.Fatalf("got %d nodes beside each other", across)
	}
	node := func(n int) string { return "n-" + string(rune('0'+n/10)) + string(rune('0'+n%10)) }
	for _, step := range []struct{ keys, want string }{
		{"", node(0) + "/0"}, {kb.ArrowRight, node(0) + "/1"}, {kb.ArrowDown, node(across) + "/1"}, {kb.End, node(across) + "/3"},
		{kb.ArrowRight, node(across+1) + "/0"}, {kb.ArrowLeft, node(across) + "/3"}, {kb.ArrowUp, node(0) + "/3"}, {kb.ArrowUp, node(0) + "/3"},
		{kb.Home, node(0) + "/0"}, {kb.ArrowLeft, node(0) + "/0"}, {kb.PageDown, node(min(59, 10*across)) + "/0"},
	} {
		if step.keys != "" {
			b.Press(step.keys)
		}
		if got := at(); got != step.want {
			t.Errorf("%q: got %s, want %s", step.keys, got, step.want)
		}
	}
	b.Do(chromedp.KeyEvent(kb.End, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	if got := at(); got != "n-59/3" {
		t.Error(got)
	}
	b.Do(chromedp.KeyEvent(kb.Home, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	if got := at(); got != "n-00/0" {
		t.Error(got)
	}
	b.Until(`document.querySelector('[data-f="detail"]').textContent.startsWith("n-00/0 · slot 0 · free")`) // once the watch has delivered it
	b.Press(kb.Tab)
	if inside := eval[bool](b, `document.activeElement.closest("table.grid") !== null`); inside {
		t.Error("Tab stays in the grid")
	}
	b.Hold()
}
