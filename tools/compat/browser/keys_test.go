package browser

import (
	"strconv"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Press presses keys, one after another.
func (b *Tab) Press(keys ...string) {
	b.T.Helper()
	for _, key := range keys {
		b.Do(chromedp.KeyEvent(key))
	}
}

// TabTo presses Tab until the focus is on what the selector names. Each stop on the way must
// show that it has the focus.
func (b *Tab) TabTo(selector string) {
	b.T.Helper()
	b.walk(selector)
}

// BackTo is TabTo in the other direction.
func (b *Tab) BackTo(selector string) {
	b.T.Helper()
	b.walk(selector, chromedp.KeyModifiers(chromedp.ModifierShift))
}

func (b *Tab) walk(selector string, with ...chromedp.KeyOption) {
	b.T.Helper()
	const most = 200
	var stops []string
	for range most {
		b.Do(chromedp.KeyEvent(kb.Tab, with...))
		at := Eval[struct {
			There, Visible bool
			What           string
		}](b, `(() => {
			const e = document.activeElement, style = getComputedStyle(e);
			return { There: e.matches(`+strconv.Quote(selector)+`), Visible: e === document.body || style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2, What: e.tagName + " " + e.id + " " + (e.name ?? "") };
		})()`)
		stops = append(stops, at.What)
		if !at.Visible {
			b.T.Errorf("the focus on %s cannot be seen", at.What)
		}
		if at.There {
			return
		}
	}
	b.T.Fatalf("Tab does not lead to %s but to %q", selector, stops)
}
