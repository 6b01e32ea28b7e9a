package browser

import (
	"flag"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
)

var judge = flag.Bool("judge", false, "fail where a time is beyond its bar; without it times are only logged, since machines are busy")

// Judge logs a time beside its bar, and with -judge fails the test if it is beyond.
func Judge(t testing.TB, what string, is, bar time.Duration) {
	t.Helper()
	t.Logf("%s: %.1f ms, bar %.0f ms, ratio %.2f", what, is.Seconds()*1e3, bar.Seconds()*1e3, float64(is)/float64(bar))
	if *judge && is > bar {
		t.Errorf("%s is beyond its bar", what)
	}
}

// Spent is the processor time of the process that draws the page, which other work on the
// machine hardly lengthens.
func (b *Tab) Spent() time.Duration {
	b.T.Helper()
	Call(b, performance.Enable, performance.EnableParams{})
	var spent time.Duration
	for _, m := range Call(b, performance.GetMetrics, cdp.Empty{}).Metrics {
		if m.Name == "ProcessTime" {
			spent = time.Duration(m.Value * 1e9)
		}
	}
	return spent
}

// FirstPaint is when the page had its first content painted, since it was asked for.
func (b *Tab) FirstPaint() time.Duration {
	b.T.Helper()
	ms := Eval[float64](b, `new Promise((done) => new PerformanceObserver((l) => { const e = l.getEntriesByName("first-contentful-paint")[0]; if (e) done(e.startTime); }).observe({ type: "paint", buffered: true }))`)
	return time.Duration(ms * 1e6)
}
