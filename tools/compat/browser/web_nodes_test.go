package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/spazio-scheduler/spazio/web"
)

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// tile returns the script that selects a node's tile.
func tile(name string) string {
	return `document.querySelector(".tile[data-name=" + CSS.escape(` + quoted(name) + `) + "]")`
}

// Each node has a tile, each kind of node has its own look, and those that admit no pods are listed
// with the reason.
func TestWebTiles(t *testing.T) {
	for _, state := range []web.State{twenty(), thousands()} {
		_, address := serveWeb(t, state)
		b := show(t, address, 1280, 900)
		var names []string
		for _, n := range state.Nodes {
			names = append(names, n.Name)
		}
		slices.Sort(names)
		if got := Eval[[]string](b, `[...document.querySelectorAll("#tiles > .tile")].map((t) => t.dataset.name)`); !slices.Equal(got, names) {
			t.Errorf("got %d tiles for %d nodes", len(got), len(names))
		}
		if n := Eval[int](b, `new Set([...document.querySelectorAll("#legend .swatch")].map((s) => getComputedStyle(s).background)).size`); n != 8 {
			t.Errorf("got %d looks, want 8", n)
		}
		if wrong := Eval[string](b, `[...document.querySelectorAll(".tile")].filter((t) => getComputedStyle(t).backgroundImage.startsWith("repeating-linear-gradient") !== (t.dataset.kind === "stale")).map((t) => t.dataset.name).join()`); wrong != "" {
			t.Errorf("got wrong hatching: %s", wrong)
		}
		// axe does not check the text that styles put on tiles: it must be readable on each.
		for _, scheme := range []string{"light", "dark"} {
			b.Likes(scheme)
			if faint := Eval[string](b, `(() => {
				const light = (c) => { const [r, g, b] = c.match(/[\d.]+/g).map((v) => v / 255).map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
				return [...document.querySelectorAll("#legend .swatch")].flatMap((s) => {
					const style = getComputedStyle(s), stripe = style.backgroundImage.match(/rgb\([^)]*\)/)?.[0];
					return [style.backgroundColor, stripe].filter(Boolean).map((ground) => {
						const [a, b] = [light(style.color), light(ground)].sort((a, b) => b - a);
						return [s.dataset.kind, (a + .05) / (b + .05)];
					});
				}).filter(([, ratio]) => ratio < 4.5).join(" ");
			})()`); faint != "" {
				t.Errorf("%s: too faint: %s", scheme, faint)
			}
		}
		b.Likes("light")
		kinds, takes := make(map[string]int), 0
		for _, n := range state.Nodes {
			if n.Reason == "" || n.ByRequests {
				takes++
			}
			switch {
			case n.Signal == web.Stale:
				kinds["stale"]++
			case n.Signal == web.Missing:
				kinds["grey"]++
			case n.Saturated:
				kinds["saturated"]++
			case n.Free < 1:
				kinds["full"]++
			case n.Reason != "":
				kinds["grey"]++
			default:
				kinds["room"]++
			}
		}
		for kind, want := range kinds {
			if kind == "room" {
				kind = "r1, .r2, .r3, .r4"
			}
			selector := strings.NewReplacer("r1, .r2, .r3, .r4", `.tile[data-kind^="r"]`).Replace(kind)
			if selector == kind {
				selector = `.tile[data-kind="` + kind + `"]`
			}
			if got := Eval[int](b, `document.querySelectorAll('`+selector+`').length`); got != want {
				t.Errorf("want %d %s nodes, got %d tiles", want, kind, got)
			}
		}
		if got, want := Eval[string](b, `document.querySelector("#nodes-count").textContent.replaceAll(",", "")`), fmt.Sprintf("; %d take pods %d take none", takes, len(names)-takes); !strings.HasSuffix(got, want) {
			t.Errorf("want %q, got %q", want, got)
		}
		why := Eval[string](b, `document.querySelector("#reasons").innerText`)
		for _, want := range []string{"takes pods by requests alone: no agent has ever reported from it", "cordoned", "no report for "} {
			if !strings.Contains(why, want) {
				t.Errorf("%q is missing, got %q", want, why)
			}
		}
		output := Eval[[]string](b, `[...document.querySelectorAll("#reasons .reason bdi")].map((e) => e.textContent)`)
		if slices.Sort(output); len(slices.Compact(slices.Clone(output))) != len(output) {
			t.Errorf("got a repeated reason: %q", output)
		}
		b.Hold()
	}
}

// A frame that is cut off leaves nothing behind in the next one.
func TestWebPictureCutOff(t *testing.T) {
	_, address := serveWeb(t, twenty())
	b := show(t, address, 1280, 900)
	got := Eval[string](b, `import("/page/static/x/nodes.js").then(({ Nodes }) => {
		const nodes = new Nodes(() => {}), row = (i, name) => [i, 1, 0, 0, 80, 80, 0, 0, 0, 0, 0, name], tiles = () => [...document.querySelectorAll(".tile")].map((t) => t.dataset.name + "=" + t.getAttribute("aria-label").split(":")[0]).join(" ");
		const all = [];
		nodes.begin(2, 0, ""); nodes.rows([row(0, "a"), row(1, "b")], [""]); nodes.paint(); all.push(tiles());
		nodes.begin(4, 0, ""); nodes.rows([row(0, "c"), row(3, "f")], [""]);
		nodes.begin(2, 0, ""); nodes.rows([row(0, "c"), row(1, "d")], [""]); nodes.paint(); all.push(tiles());
		nodes.begin(2, 0, ""); nodes.rows([row(0, "g")], [""]);
		nodes.begin(2, 0, ""); nodes.rows([row(0, "g"), row(1, "h")], [""]); nodes.paint(); all.push(tiles());
		nodes.begin(0, 0, ""); nodes.rows([], []); nodes.paint(); all.push(tiles(), document.querySelector("#nodes-count").textContent);
		return all.join("|");
	})`)
	if want := "a=a b=b|c=c d=d|g=g h=h||There are none."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	b.Hold()
}

// A page shows what it had while its server, back again, has no answer yet.
func TestWebBackToNoAnswer(t *testing.T) {
	source, address := serveWeb(t, twenty())
	b := show(t, address, 1280, 900)
	before := Eval[[]string](b, webContent)
	source.set(func() { source.err = errors.New("the scheduler is gone") })
	source.cut()
	b.Until(`document.querySelector("#problem").textContent.startsWith("No answer: the scheduler is gone") && Number(document.documentElement.dataset.frame) > 1`)
	b.Until(`document.querySelector("#problem").textContent.endsWith(" What is below is of 09:30:12 UTC.")`)
	if after := Eval[[]string](b, webContent); !slices.Equal(before, after) {
		t.Errorf("%d of %q", len(after), after)
	}
	b.Hold("ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION")
}

// A saturated node looks so with the first frame of its State.
func TestWebChangeIsShown(t *testing.T) {
	for _, n := range []int{20, 5000} {
		state := twenty()
		state.Nodes = fleet(n, 5)
		source, address := serveWeb(t, state)
		b := show(t, address, 1280, 900)
		name := state.Nodes[n/2+1].Name
		for turn, saturated := range []bool{true, false, true} {
			// The title is part of the same State: the frame with the title changes the tile, too.
			mark := fmt.Sprint("saturated ", saturated, " ", turn)
			b.Script(`window.seen = undefined; window.observer?.disconnect(); window.observer = new MutationObserver(() => { if (document.querySelector("#title").textContent === ` + quoted(mark) + `) window.seen ??= ` + tile(name) + `.dataset.kind; }); observer.observe(document.querySelector("#title"), { childList: true, characterData: true, subtree: true })`)
			source.change(func(s *web.State) {
				s.Title = mark
				node := web.Node{Name: name, Signal: web.Fresh, Capacity: 8, Free: 8, Limiting: "cpu"}
				if saturated {
					node.Free, node.Running, node.Saturated, node.Reason = 0, 9, true, "cpu is used up"
				}
				s.Nodes[n/2+1] = node
			})
			b.Until(`window.seen`)
			want := "r4"
			if saturated {
				want = "saturated"
			}
			if got := Eval[string](b, `window.seen`); got != want {
				t.Errorf("of %d nodes: got %s, want %s", n, got, want)
			}
		}
		b.Hold()
	}
}

// webContent is what a person finds on the page.
const webContent = `[...document.querySelectorAll("#title, #verdict, #verdict-more, #nodes-count, #legend li, #letters, #reasons li, #runs *, #waiting-title, #waiting td, #waiting-more, .tile")]
	.map((e) => [e.tagName, e.dataset.kind, e.getAttribute("aria-label"), e.childElementCount ? "" : e.textContent, e.style?.width, e.closest("[hidden]") !== null].join("|"))`

// After any events, the page that followed them equals a freshly loaded one.
func TestWebFollowedIsRead(t *testing.T) {
	source, address := serveWeb(t, running())
	b := show(t, address, 1280, 900)
	rng := rand.New(rand.NewPCG(4, 23))
	for round := range 12 {
		for range 4 {
			source.change(func(s *web.State) {
				s.Nodes = fleet(20+rng.IntN(5)*rng.IntN(2), rng.Uint64())
				if rng.IntN(4) == 0 {
					s.Nodes = s.Nodes[rng.IntN(10):]
				}
				if round%4 == 3 {
					s.Comparable = !s.Comparable
				}
				s.Waiting = running().Waiting[:rng.IntN(97)]
				s.WaitingTotal = len(s.Waiting) + rng.IntN(2)
				s.Runs = []web.Run{batch("default-scheduler", 300, 1, 64, rng.Uint64()), running().Runs[1]}[:rng.IntN(3)]
			})
			time.Sleep(time.Duration(rng.IntN(80)) * time.Millisecond) // over frames, or within one
		}
		mark := fmt.Sprint("mark ", round)
		source.change(func(s *web.State) {
			s.Title = mark
			if round%5 == 2 {
				s.Nodes = nil
			}
		})
		b.Until(`document.querySelector("#title").textContent === ` + quoted(mark))
		followed := Eval[[]string](b, webContent)
		b.Do(chromedp.Reload())
		b.Until(shown)
		read := Eval[[]string](b, webContent)
		if !slices.Equal(read, followed) {
			for i := range min(len(read), len(followed)) {
				if read[i] != followed[i] {
					t.Errorf("round %d: read %q, followed %q", round, read[i], followed[i])
					break
				}
			}
			t.Fatalf("round %d: %d and %d", round, len(read), len(followed))
		}
	}
	b.Hold()
}

// Hostile names are text everywhere, break nothing, and do not affect the direction of other text.
func TestWebHostileNames(t *testing.T) {
	state := running()
	state.Title = hostile[0]
	for i, name := range hostile {
		state.Nodes = append(state.Nodes, web.Node{Name: name, Reason: name, Limiting: name, Signal: []web.Signal{web.Fresh, web.Stale, web.Missing}[i]})
		state.Waiting[i] = web.Waiting{Namespace: "default", Name: name, Profile: name, Reason: name, Since: now}
	}
	state.Runs[0].Profile = hostile[0]
	_, address := serveWeb(t, state)
	b := show(t, address, 1280, 900)
	for _, name := range hostile {
		short := name
		if len(short) > 253 {
			short = short[:250] + "…"
		}
		if !Eval[bool](b, tile(short)+` !== null`) {
			t.Errorf("got no node named %q", short)
		}
		for _, where := range []string{"#waiting td:nth-child(2)", "#waiting td:nth-child(4)", "#reasons .reason bdi"} {
			if !Eval[bool](b, `[...document.querySelectorAll(`+quoted(where)+`)].some((e) => e.textContent.startsWith(`+quoted(short[:min(len(short), 240)])+`))`) {
				t.Errorf("%q is missing in %s", short, where)
			}
		}
	}
	b.Script(`document.querySelector("#waiting button").click()`)
	b.Until(`document.querySelectorAll(".timeline li").length === 6`)
	b.Script(tile(hostile[1]) + `.click()`)
	b.Until(`document.querySelector("#detail-title").textContent === ` + quoted(hostile[1]) + ` && document.querySelectorAll("#detail .lines li").length === 2`)
	if got := Eval[string](b, `[document.images.length, window.harmed, document.querySelectorAll("main script, main iframe").length].join()`); got != "0,,0" {
		t.Errorf("pictures, harm, scripts: %s", got)
	}
	if n := Eval[int](b, `[...document.querySelectorAll("bdi")].filter((e) => getComputedStyle(e).unicodeBidi !== "isolate").length`); n != 0 {
		t.Errorf("got %d names without isolation", n)
	}
	for _, width := range []int64{1280, 400} {
		b.Do(chromedp.EmulateViewport(width, 900))
		b.Until(`document.documentElement.scrollWidth <= innerWidth && innerWidth === ` + fmt.Sprint(width))
	}
	b.Hold()
}
