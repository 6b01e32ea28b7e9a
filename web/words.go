package web

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// span is a time in words that fit beside others.
func span(d time.Duration) string {
	s := max(0, d.Seconds())
	switch {
	case s < 1:
		return fmt.Sprintf("%.2f s", s)
	case s < 9.95:
		return fmt.Sprintf("%.1f s", s)
	case s < 119.5:
		return fmt.Sprintf("%.0f s", s)
	case s < 2*3600:
		return fmt.Sprintf("%d min %d s", int(s+.5)/60, int(s+.5)%60)
	}
	return fmt.Sprintf("%d h %d min", int(s)/3600, int(s)/60%60)
}

// ratio is a share of one without its 0: .66.
func ratio(r float64) string {
	if math.IsNaN(r) || math.IsInf(r, 0) {
		return "?"
	}
	return strings.TrimPrefix(fmt.Sprintf("%.2f", r), "0")
}

// count is a number of things.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + one + "s"
}

// thousands is a number that can be read: 5,000.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// possessive is whose something is.
func possessive(name string) string { return name + "'s" }
