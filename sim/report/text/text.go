// Package text writes tables as text that fits a terminal, and as CSV, and values as JSON. It
// measures, cuts and cleans text in the columns that it takes on a terminal: two for a letter of a
// Chinese, Japanese or Korean script and for most emoji, none for an accent that stands on the letter
// before it.
package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Width is the number of columns that a text takes, control characters counted as one
// each, as Plain writes them.
func Width(s string) int {
	columns := 0
	for _, r := range s {
		columns += runeWidth(r)
	}
	return columns
}

// runeWidth is the number of columns that a letter takes: 0, 1 or 2.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1 // nothing below is an accent by itself, or wide
	case unicode.In(r, unicode.Mn, unicode.Me) || joins(r):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// joins reports whether a letter is one of the two invisible ones that scripts need.
func joins(r rune) bool { return r == '\u200c' || r == '\u200d' }

// Plain is a text in which nothing moves a terminal's cursor, changes its colours or the
// direction of writing: breaks and tabs become blanks, other characters that are not
// printed, and bytes that are no UTF-8, U+FFFD.
func Plain(s string) string {
	clean := func(r rune) bool { return r >= ' ' && r < 0x7f }
	if !strings.ContainsFunc(s, func(r rune) bool { return !clean(r) }) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.IsPrint(r) || unicode.In(r, unicode.Mn, unicode.Me) || joins(r):
			return r
		case unicode.Is(unicode.Zs, r):
			return ' '
		}
		return utf8.RuneError
	}, s)
}

// cut is the part of a text that columns hold, the whole if it fits.
func cut(s string, columns int) string {
	taken := 0
	for i, r := range s {
		if taken += runeWidth(r); taken > columns {
			return s[:i]
		}
	}
	return s
}

// Shorten takes out of a text what makes it wider than columns, and puts an ellipsis there:
// at its end, or in the middle of a name, which is a text without blanks; names often
// differ at their ends alone.
func Shorten(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	end := ""
	if !strings.Contains(s, " ") {
		end = last(s, (columns-1)/2)
	}
	return cut(s, columns-1-Width(end)) + "…" + end
}

// last is the end of a text that takes at most so many columns, accents with their letters.
func last(s string, columns int) string {
	from := len(s)
	for i, taken := len(s), 0; i > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		if taken += runeWidth(r); taken > columns {
			break
		}
		if i -= size; runeWidth(r) > 0 {
			from = i
		}
	}
	return s[from:]
}

// pad fills a text up with blanks, before it where it is aligned to the right.
func pad(s string, columns int, right bool) string {
	blanks := strings.Repeat(" ", max(0, columns-Width(s)))
	if right {
		return blanks + s
	}
	return s + blanks
}

// Wrap breaks a text into lines of at most so many columns, at blanks, else after one of
// /_, where there are any; 0 is no bound. A letter that is wider than a line has it to
// itself.
func Wrap(s string, columns int) []string {
	if columns <= 0 {
		return []string{s}
	}
	return WrapBy(s, func(rest string) int { return len(cut(rest, columns)) })
}

// WrapBy is Wrap for lines that hold as many bytes of a text as fits returns.
func WrapBy(s string, fits func(rest string) int) (lines []string) {
	for {
		end := lineEnd(s, fits(s))
		if end == len(s) {
			return append(lines, s)
		}
		lines = append(lines, strings.TrimRight(s[:end], " "))
		s = strings.TrimLeft(s[end:], " ")
	}
}

// Hang is a text behind a prefix, broken into lines of at most so many columns, all but the
// first indented by the prefix's width; 0 is no bound. A prefix that leaves less than a third
// of the columns stands alone.
func Hang(prefix, s string, columns int) string {
	indent := Width(prefix)
	if columns > 0 && indent > columns*2/3 {
		return strings.Join(append(Wrap(strings.TrimRight(prefix, " "), columns), Wrap(s, columns)...), "\n")
	}
	left := 0
	if columns > 0 {
		left = columns - indent
	}
	return prefix + strings.Join(Wrap(s, left), "\n"+strings.Repeat(" ", indent))
}

// Fold breaks those lines of a text that are longer than columns, and indents what follows
// as the line is; 0 is no bound. Each line becomes Plain.
func Fold(s string, columns int) string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimRight(Plain(line), " ")
		words := strings.TrimLeft(line, " ")
		lines = append(lines, Hang(line[:len(line)-len(words)], words, columns))
	}
	return strings.Join(lines, "\n")
}

// whole is a text whose parts, between blanks and Breaks, take at most so many columns each: what
// Wrap would break within is shortened. columns ≤ 0 is no bound.
func whole(s string, columns int) string {
	if columns <= 0 || Width(s) <= columns {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		end := strings.IndexAny(s, " "+breaks) + 1
		if end == 0 {
			end = len(s)
		}
		part := strings.TrimSuffix(s[:end], " ")
		b.WriteString(Shorten(part, columns) + s[len(part):end])
		s = s[end:]
	}
	return b.String()
}

// lineEnd is where the first line of a text ends of which so many bytes fit, len(s) if it is the
// last.
func lineEnd(s string, fits int) int {
	if fits == len(s) {
		return fits
	}
	if fits == 0 {
		_, fits = utf8.DecodeRuneInString(s)
	}
	if blank := strings.LastIndexByte(s[:min(fits+1, len(s))], ' '); blank > 0 {
		return blank
	}
	if part := strings.LastIndexAny(s[:fits], breaks); part >= 0 {
		return part + 1
	}
	return fits
}

// breaks are the letters, besides blanks, after which a line may end.
const breaks = "/_,"

// Count returns a number with a thing whose plural ends in s, as in "1 node" and "2 nodes".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
