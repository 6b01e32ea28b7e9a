package browser

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Limits for a page with 5,000 cells.
const (
	barChange = 250 * time.Millisecond  // for 19 changes in 20
	barPaint  = 1500 * time.Millisecond // for the first
)

// A change of one of 5,000 slots reaches the page that follows them, and each cell remains the same
// element.
func TestUILatency(t *testing.T) {
	const nodes, perNode, changes = 1250, 4, 100
	bench := servertest.Start(t, withUI)
	large := testbedOf("default", "fleet", "node", nodes, perNode)
	bench.Store.PutTestbed(large)
	b := open(t, bench.URL, 1280, 900)
	b.login(servertest.Viewer)
	var paints []time.Duration
	for range 3 {
		b.visit("")
		b.Until(live)
		paints = append(paints, b.FirstPaint())
	}
	// Each change of a cell is recorded with its time, by the clock that the test also uses.
	b.Do(chromedp.Evaluate[chromedp.Void](`window.cells = [...document.querySelectorAll("td[data-slot]")]; window.came = {};
		new MutationObserver((all) => { for (const m of all) came[m.target.dataset.slot + m.target.dataset.state] = performance.timeOrigin + performance.now(); })
			.observe(document.querySelector("table.grid"), { attributes: true, attributeFilter: ["data-state"], subtree: true }); undefined`))
	var late []time.Duration
	for i := range changes {
		s := large.Slots[(i*1237)%len(large.Slots)]
		s.State, s.ReservedFor = slot.Reserved, fmt.Sprintf("default/job-%d", i)
		at := time.Now()
		bench.Store.PutSlot("default", "fleet", s)
		key := s.ID + s.State.String()
		b.Until(fmt.Sprintf(`came[%q]`, key))
		came := eval[float64](b, fmt.Sprintf(`came[%q]`, key))
		late = append(late, time.UnixMicro(int64(came*1000)).Sub(at))
	}
	if !eval[bool](b, `cells.length === 5000 && cells.every((c) => c.isConnected)`) {
		t.Error("the grid was rebuilt")
	}
	// The counts use a separate subscription.
	b.Until(fmt.Sprintf(`document.querySelector('[data-count="reserved"]').textContent === "%d"`, changes))
	Judge(t, "change → page, p95 of "+fmt.Sprint(changes), quantile(late, .95), barChange)
	Judge(t, "change → page, median", quantile(late, .5), barChange)
	Judge(t, "first paint, median of 3", quantile(paints, .5), barPaint)
	b.Hold()
}

func quantile(times []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
