package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/spazio-scheduler/spazio/web"
)

// at is the node whose tile has the focus.
const at = `document.activeElement.dataset.name ?? document.activeElement.id`

// A person without a mouse reaches each node and pod, and returns.
func TestWebKeyboardAlone(t *testing.T) {
	state := running()
	source, address := serveWeb(t, state)
	b := show(t, address, 1280, 900)
	b.Press(kb.Tab)
	if got := Eval[string](b, `document.activeElement.textContent`); got != "Skip to the nodes" {
		t.Errorf("got first stop %q", got)
	}
	b.TabTo(".tile")
	for i, n := range state.Nodes {
		if got := Eval[string](b, at); got != n.Name {
			t.Fatalf("stop %d is %s, want %s", i, got, n.Name)
		}
		b.Press(kb.ArrowRight)
	}
	across := Eval[int](b, `[...document.querySelectorAll(".tile")].filter((t, _, all) => t.offsetTop === all[0].offsetTop).length`)
	for _, step := range []struct {
		key  string
		want int
	}{{kb.ArrowRight, 19}, {kb.Home, 0}, {kb.ArrowLeft, 0}, {kb.ArrowUp, 0}, {kb.ArrowDown, across}, {kb.ArrowUp, 0}, {kb.PageDown, across}, {kb.PageUp, 0}, {kb.End, 19}, {kb.ArrowDown, 19}, {kb.ArrowUp, 19 - across}} {
		b.Press(step.key)
		if got := Eval[string](b, at); got != state.Nodes[step.want].Name {
			t.Errorf("%q: got %s, want %s", step.key, got, state.Nodes[step.want].Name)
		}
	}
	if n := Eval[int](b, `document.querySelectorAll('.tile[tabindex="0"]').length`); n != 1 {
		t.Errorf("got %d stops of the tiles", n)
	}

	// Frames that arrive meanwhile do not move the focus, even when nodes come and go.
	here := Eval[string](b, at)
	source.change(func(s *web.State) { s.Nodes = append(s.Nodes[1:], web.Node{Name: "node-99"}) })
	b.Until(tile("node-99"))
	if got := Eval[string](b, at); got != here {
		t.Errorf("the focus went from %s to %s", here, got)
	}
	b.Press(kb.Enter)
	b.Until(`document.activeElement.id === "detail-title" && document.querySelectorAll("#detail .lines li").length === 2`)
	if got := Eval[string](b, `document.activeElement.textContent + document.querySelector('.tile[aria-selected="true"]').dataset.name`); got != here+here {
		t.Errorf("got details of %s", got)
	}
	b.TabTo("#detail .pods button")
	b.Press(kb.Enter)
	b.Until(`document.activeElement.id === "detail-title" && document.activeElement.textContent === "default/batch-17" && document.querySelectorAll(".timeline li").length === 6`)
	b.Press(kb.Escape)
	b.Until(`document.querySelector("#detail").hidden`)
	if got := Eval[string](b, at); got != here {
		t.Errorf("Escape: got %s", got)
	}

	b.TabTo("#pod")
	b.Press("default/batch-4", kb.Enter)
	b.Until(`document.activeElement.textContent === "default/batch-4" && document.querySelectorAll(".timeline li").length === 6`)
	b.Press(kb.Escape)
	if got := Eval[string](b, at); got != "pod" {
		t.Errorf("Escape: got %s", got)
	}
	b.TabTo("#waiting button")
	b.Press(kb.Enter)
	b.Until(`document.activeElement.id === "detail-title"`)
	b.TabTo("#detail-close")
	b.Press(" ")
	b.Until(`document.querySelector("#detail").hidden && document.activeElement.matches("#waiting button")`)
	b.Hold()
}

// Arrow keys reach each of 5,000 nodes, one pair for rows and one within a row, and Tab leaves them
// again.
func TestWebKeyboardReachesEach(t *testing.T) {
	_, address := serveWeb(t, thousands())
	b := show(t, address, 1280, 900)
	b.TabTo(".tile")
	// The script sends the events: thousands of keys would take the protocol a minute.
	wrong := Eval[string](b, `(() => {
		const tiles = [...document.querySelectorAll(".tile")], wrong = [];
		const across = tiles.filter((t) => t.offsetTop === tiles[0].offsetTop).length, rows = Math.ceil(tiles.length / across);
		const press = (key, to) => {
			document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
			if (document.activeElement !== tiles[to]) wrong.push(key + " " + to);
		};
		if (across < 50 || document.activeElement !== tiles[0]) return "across " + across;
		for (let row = 1; row < rows; row++) press("ArrowDown", row * across);
		for (const row of [0, 17, rows - 1]) {
			tiles[row * across].focus();
			for (let i = row * across + 1; i < Math.min(tiles.length, (row + 1) * across + 1); i++) press("ArrowRight", i);
		}
		press("Home", 0);
		press("End", tiles.length - 1);
		return wrong.join();
	})()`)
	if wrong != "" {
		t.Errorf("not reached: %s", wrong)
	}
	b.Press(kb.Enter)
	b.Until(`document.querySelectorAll("#detail .lines li").length === 2`)
	b.Press(kb.Escape, kb.Tab)
	if Eval[bool](b, `document.activeElement.matches(".tile")`) {
		t.Error("Tab stays among the tiles")
	}
	b.Hold()
}
