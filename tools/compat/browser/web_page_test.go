package browser

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/spazio-scheduler/spazio/web"
)

// All rules of axe pass in all scenes, in both colour schemes, and in a narrow window.
func TestWebAxe(t *testing.T) {
	for _, s := range scenes {
		source, address := serveWeb(t, s.state())
		b := Open(t, address, 1280, 900)
		b.LetAxe()
		for _, look := range []struct {
			scheme string
			width  int64
		}{{"light", 1280}, {"dark", 1280}, {"light", 400}} {
			b.Likes(look.scheme)
			b.Do(chromedp.EmulateViewport(look.width, 900))
			b.Visit("/page/")
			b.Until(shown)
			what := fmt.Sprintf("%s, %s, %d wide", s.name, look.scheme, look.width)
			if look.scheme == "light" {
				b.Axe(what)
			}
			if look.width == 1280 {
				s.do(b)
				b.Axe(what + ", with announcements")
			}
		}
		source.set(func() { source.err = errors.New("the scheduler is gone") })
		b.Until(`!document.querySelector("#problem").hidden`)
		b.Axe(s.name + ", stale")
		b.Hold()
	}
}

// Common names of pods and profiles are not broken in the list of those that wait.
func TestWebWaitingNamesAreWhole(t *testing.T) {
	state := running()
	state.Waiting[0].Name, state.Waiting[0].Profile = "gated", "spazio-slots"
	state.Waiting[0].Reason = strings.Repeat("3 node(s) without room for another pod, shortest in memory, ", 5)
	_, address := serveWeb(t, state)
	b := show(t, address, 1300, 900)
	if broken := Eval[string](b, `[...document.querySelectorAll("#waiting-some th, #waiting td:nth-child(-n + 3)")].filter((e) => {
		const r = document.createRange();
		r.selectNodeContents((e.querySelector("bdi") ?? e).firstChild);
		return r.getClientRects().length > 1;
	}).map((e) => e.textContent).join()`); broken != "" {
		t.Errorf("broken: %s", broken)
	}
	b.Hold()
}

// A source that fails is reported beside its last answer, and so is a server that is gone.
func TestWebProblems(t *testing.T) {
	source, address := serveWeb(t, twenty())
	b := show(t, address, 1280, 900)
	b.Until(`document.querySelector("#link").textContent === "Live" && document.querySelector("#problem").hidden`)
	source.set(func() { source.err = errors.New(hostile[0]) })
	b.Until(`document.querySelector("#problem").textContent === ` + quoted("No answer: "+hostile[0]+" What is below is of 09:30:12 UTC."))
	b.Until(`document.querySelector("#link").textContent === "Stale" && document.querySelectorAll(".tile").length === 20`)
	block := make(chan struct{})
	source.set(func() { source.err, source.block = nil, block })
	b.Until(`/^No answer for \d.* s\. What is below is of 09:30:12 UTC\.$/.test(document.querySelector("#problem").textContent)`)
	// Queries of one node are answered nevertheless.
	b.Script(tile("node-13") + `.click()`)
	b.Until(`document.querySelectorAll("#detail .lines li").length === 2`)
	source.set(func() { source.block = nil })
	close(block)
	b.Until(`document.querySelector("#link").textContent === "Live" && document.querySelector("#problem").hidden`)
	// A missing object is reported where it was requested.
	b.Script(`document.querySelector("#pod").value = "other/pod"; document.querySelector("#find button").click()`)
	b.Until(`document.querySelector("#detail .problem")?.textContent === "web: pod = other/pod: there is no such pod"`)
	b.Hold("404 (Not Found)")
}

// A client over the limit gets a message, and a place once another client has left.
func TestWebCrowded(t *testing.T) {
	const most = 32
	_, address := serveWeb(t, twenty())
	var leave io.Closer
	for range most {
		answer, err := http.Get(address + "/page/events")
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatal(answer, err)
		}
		defer answer.Body.Close()
		leave = answer.Body
	}
	b := Open(t, address, 1280, 900)
	b.Visit("/page/")
	b.Until(fmt.Sprintf(`document.querySelector("#problem").textContent === "%d readers look already; trying again."`, most))
	leave.Close()
	b.Until(shown)
	b.Until(`document.querySelector("#link").textContent === "Live"`)
	b.Hold("503 (Service Unavailable)")
}

// The curves are drawn, and the point under the pointer is described.
func TestWebCurves(t *testing.T) {
	_, address := serveWeb(t, twenty())
	b := show(t, address, 1280, 900)
	for _, id := range []string{"curves", "rates"} {
		if n := Eval[int](b, `(() => {
			const canvas = document.querySelector("#`+id+` canvas"), colours = new Set();
			const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
			for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) colours.add(data[i] + "," + data[i + 1] + "," + data[i + 2]);
			const of = (v) => { const d = document.createElement("i"); d.style.color = getComputedStyle(document.documentElement).getPropertyValue(v); document.body.append(d); const c = getComputedStyle(d).color.match(/\d+/g).join(); d.remove(); return c; };
			return [of("--run-0"), of("--run-1")].filter((c) => colours.has(c)).length;
		})()`); n != 2 {
			t.Errorf("%s: got %d lines, want 2", id, n)
		}
	}
	box := Eval[[]float64](b, `(() => { const r = document.querySelector("#curves .u-over").getBoundingClientRect(); return [r.left + r.width * .45, r.top + r.height / 2]; })()`)
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, box[0], box[1]))
	b.Until(`/^After \d\d s: default-scheduler \d+, spazio \d+$/.test(document.querySelector("#curves-readout").textContent)`)
	state := twenty()
	var sooner float64
	got := Eval[string](b, `document.querySelector("#verdict").textContent`)
	if _, err := fmt.Sscanf(got, "spazio's pods are done %f %% sooner than default-scheduler's.", &sooner); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if want := 100 - 100*meanTook(state.Runs[1])/meanTook(state.Runs[0]); math.Abs(sooner-want) > 1 {
		t.Errorf("got %v %% sooner, want %v: %s", sooner, want, got)
	}
	b.Hold()
}

// meanTook returns the mean seconds from a run's pods' creation to their completion.
func meanTook(r web.Run) float64 {
	var sum time.Duration
	for _, c := range r.Completions {
		sum += c.Took
	}
	return sum.Seconds() / float64(len(r.Completions))
}

// The label of a line near the axis is above it, not among the axis's numbers.
func TestWebNameOfLowCurve(t *testing.T) {
	state := twenty()
	state.Runs[0].Completions = state.Runs[0].Completions[:3]
	state.Runs[0].Ended = false
	_, address := serveWeb(t, state)
	b := show(t, address, 1280, 900)
	b.Script(`window.names = {}; const fill = CanvasRenderingContext2D.prototype.fillText; CanvasRenderingContext2D.prototype.fillText = function (text, x, y) { if (this.font.includes("600 ")) window.names[text] = y / devicePixelRatio; return fill.call(this, text, x, y); }`)
	b.Do(chromedp.EmulateViewport(1100, 900))
	b.Until(`"default-scheduler" in window.names && "spazio" in window.names`)
	if got := Eval[string](b, `(() => { const plot = document.querySelector("#curves .u-over"); return Object.entries(window.names).filter(([, y]) => y < plot.offsetTop || y > plot.offsetTop + plot.offsetHeight).map((e) => e.join(" ")).join(); })()`); got != "" {
		t.Errorf("got a label outside of the plot: %s", got)
	}
	b.Hold()
}

// The label of a line at the top of the plot is below it, not on it; one that is longer than the plot
// is shortened within it.
func TestWebNameOfHighCurve(t *testing.T) {
	state := thousands()
	long := strings.Repeat("profile-", 30)
	for i := range state.Runs {
		if state.Runs[i].Profile == "default-scheduler" {
			state.Runs[i].Profile = long
		}
	}
	_, address := serveWeb(t, state)
	b := show(t, address, 1280, 900)
	b.Script(`window.names = {}; const fill = CanvasRenderingContext2D.prototype.fillText; CanvasRenderingContext2D.prototype.fillText = function (text, x, y) { if (this.font.includes("600 ")) { const w = this.measureText(text).width, left = this.textAlign === "right" ? x - w : x; window.names[this.fillStyle] = [text, ...[left, left + w, y].map((v) => v / devicePixelRatio)]; } return fill.call(this, text, x, y); }`)
	b.Do(chromedp.EmulateViewport(1100, 900))
	b.Until(`Object.keys(window.names).length === 2`)
	if got := Eval[string](b, `(() => { const plot = document.querySelector("#curves .u-over"); return Object.values(window.names).filter(([name, left, right, y]) => left < plot.offsetLeft || right > plot.offsetLeft + plot.offsetWidth || name !== "spazio" && !name.endsWith("…") || name === "spazio" && y < plot.offsetTop + plot.offsetHeight * .05 + 12).map((e) => e.join(" ")).join(); })()`); got != "" {
		t.Errorf("got a misplaced label: %s", got)
	}
	b.Hold()
}

// webBarPaint is the limit for painting 5,000 nodes.
const webBarPaint = 1500 * time.Millisecond

func TestWebPaint(t *testing.T) {
	_, address := serveWeb(t, thousands(), func(c *web.Config) { c.Interval = 0 })
	b := Open(t, address, 1280, 900)
	var first, nodes []time.Duration
	var spent time.Duration
	for i := range 5 {
		b.Visit("/page/")
		b.Until(shown)
		first = append(first, b.FirstPaint())
		ms := Eval[float64](b, `new Promise((done) => { const wait = () => { const m = performance.getEntriesByName("painted")[0]; m ? done(m.startTime) : requestAnimationFrame(wait); }; wait(); })`)
		nodes = append(nodes, time.Duration(ms*1e6))
		if i == 0 {
			spent = b.Spent() // including the start of the process
		}
	}
	spent = (b.Spent() - spent) / 4
	slices.Sort(first)
	slices.Sort(nodes)
	Judge(t, "first paint, median of 5", first[2], webBarPaint)
	Judge(t, "5,000 nodes painted, median of 5", nodes[2], webBarPaint)
	Judge(t, "5,000 nodes painted, least of 5", nodes[0], webBarPaint)
	t.Logf("processor time of the page's process for a visit: %.0f ms", spent.Seconds()*1e3)
	b.Hold()
}

// The page and its window show the source's title, as text whatever it contains, and the program's name
// if there is none.
func TestWebTitle(t *testing.T) {
	source, address := serveWeb(t, twenty())
	b := show(t, address, 1280, 900)
	for _, title := range []string{"20 simulated nodes × 2 cores", "production", hostile[0], "production"} {
		source.change(func(s *web.State) { s.Title = title })
		b.Until(`document.title === ` + quoted(title+" – Spazio") + ` && document.querySelector("#title").textContent === ` + quoted(title))
	}
	source.change(func(s *web.State) { s.Title = "" })
	b.Until(`document.title === "Spazio" && document.querySelector("#title").textContent === ""`)
	b.Hold()
}
