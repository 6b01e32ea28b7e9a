package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "node-1": 6, "éloigné": 7, "e\u0301": 1, "節点": 4, "노드": 4, "ｎ": 2, "🚀": 2, "نود": 3, "می\u200cروم": 5, "a\x1bb": 3, "≤": 1, "…": 1,
	} {
		if got := text.Width(s); got != want {
			t.Errorf("%q takes %d columns, want %d", s, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	for s, want := range map[string]string{
		"node-1": "node-1", "節点 é e\u0301 🚀": "節点 é e\u0301 🚀", "a\nb\tc\r\n": "a b c  ", "\x1b[2Jx": "\ufffd[2Jx", "a\x9b1mb": "a\ufffd1mb",
		"a\u202eb": "a\ufffdb", "\xff": "\ufffd", "\x00\x7f": "\ufffd\ufffd", "a\u00a0b": "a b", "\u2028": "\ufffd", "می\u200cروم": "می\u200cروم",
	} {
		if got := text.Plain(s); got != want {
			t.Errorf("%q is %q, want %q", s, got, want)
		}
	}
}

func TestCutAndPad(t *testing.T) {
	for _, test := range []struct {
		s             string
		columns       int
		cut, shorten  string
		padded, right string
	}{
		{"節点", 3, "節", "節…", "節点", "節点"},
		{"節点", 4, "節点", "節点", "節点", "節点"},
		{"節点", 6, "節点", "節点", "節点  ", "  節点"},
		{"e\u0301x", 1, "e\u0301", "…", "e\u0301x", "e\u0301x"},
		{"ab", 0, "", "", "ab", "ab"},
		{"worker-0123456789", 9, "worker-01", "work…6789", "worker-0123456789", "worker-0123456789"},
		{"no room for it", 8, "no room ", "no room…", "no room for it", "no room for it"},
		{"ee\u0301e\u0301e\u0301", 3, "ee\u0301e\u0301", "e…e\u0301", "ee\u0301e\u0301e\u0301", "ee\u0301e\u0301e\u0301"},
	} {
		got := []string{text.Cut(test.s, test.columns), text.Shorten(test.s, test.columns), text.Pad(test.s, test.columns, false), text.Pad(test.s, test.columns, true)}
		if diff := cmp.Diff([]string{test.cut, test.shorten, test.padded, test.right}, got); diff != "" {
			t.Errorf("%q in %d (-want +got):\n%s", test.s, test.columns, diff)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		s       string
		columns int
		want    string
	}{
		{"one two three", 7, "one two|three"},
		{"one two three", 0, "one two three"},
		{"節点 節点", 5, "節点|節点"},
		{"節点節点", 3, "節|点|節|点"},
		{"節点", 1, "節|点"},
		{"shop/Deployment/cart", 10, "shop/|Deployment|/cart"},
		{"abcdef", 4, "abcd|ef"},
	} {
		if got := strings.Join(text.Wrap(test.s, test.columns), "|"); got != test.want {
			t.Errorf("%q in %d: %q, want %q", test.s, test.columns, got, test.want)
		}
	}
}

func TestWhole(t *testing.T) {
	for _, test := range []struct {
		s       string
		columns int
		want    string
	}{
		{"shop/Deployment/cart", 11, "shop/Deployment/cart"},
		{"shop/Deployment/cart", 7, "shop/Dep…nt/cart"},
		{"one two  three ", 3, "one two  t…e "},
		{"節点節点", 5, "節…点"},
		{"abcdef", 0, "abcdef"},
		{"a,b", 1, "…b"},
	} {
		got := text.Whole(test.s, test.columns)
		if got != test.want {
			t.Errorf("%q in %d: %q, want %q", test.s, test.columns, got, test.want)
		}
	}
}

func TestFold(t *testing.T) {
	for _, test := range []struct {
		s       string
		columns int
		want    string
	}{
		{"one two three\n  four five six\n\nx\x1b ", 9, "one two\nthree\n  four\n  five\n  six\n\nx\ufffd"},
		{"one two three", 0, "one two three"},
		{"        deep words here", 10, "\ndeep words\nhere"},
	} {
		if got := text.Fold(test.s, test.columns); got != test.want {
			t.Errorf("%q in %d: %q, want %q", test.s, test.columns, got, test.want)
		}
	}
	if got, want := text.Hang("nodes ok  ", "節点 two three", 16), "nodes ok  節点\n          two\n          three"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 nodes", 1: "1 node", 2: "2 nodes", -1: "-1 nodes"} {
		if got := text.Count(n, "node"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// No line is too wide, only blanks are lost, and plain text stays unchanged.
func FuzzWrap(f *testing.F) {
	for _, s := range []string{"one two", "節点/節点", "e\u0301 e\u0301", "\x1b[0m", strings.Repeat("a", 300), "a,b_c/d"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, columns int) {
		plain := text.Plain(s)
		if text.Plain(plain) != plain || !utf8.ValidString(plain) {
			t.Fatalf("%q isn't plain", plain)
		}
		columns = 2 + (columns%200+200)%200
		lines := text.Wrap(plain, columns)
		for _, line := range lines {
			if text.Width(line) > columns {
				t.Fatalf("%q is wider than %d", line, columns)
			}
		}
		letters := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if got := letters(strings.Join(lines, "")); got != letters(plain) {
			t.Fatalf("%q became %q", plain, got)
		}
		if c := text.Cut(plain, columns); !strings.HasPrefix(plain, c) || text.Width(c) > columns {
			t.Fatalf("%q is cut to %q", plain, c)
		}
	})
}
