package source

import (
	"slices"
	"strings"
	"unicode"
)

// width is how much of a machine a sensor measures. Of sensors of unlike width only the
// widest count, since they contain the others.
type width uint8

const (
	part   width = iota + 1 // processors, memory, fans …
	board                   // without supplies and drives
	supply                  // one of the power supplies
	// unnamed is a sensor that does not say what it measures. A meter that ACPI or a
	// controller shows without more is the machine's input.
	unnamed
	whole
)

// once reports whether two sensors of a width measure the same.
func (w width) once() bool { return w >= unnamed }

// Beginnings of the words by which vendors name what they measure.
var (
	partWords   = []string{"sub", "cpu", "proc", "mem", "dimm", "dram", "gpu", "fan", "stor", "disk", "drive", "hdd", "ssd", "pci", "chip", "core", "socket", "vdd", "vdn", "soc", "accel", "cool", "battery", "io", "nic", "network", "riser", "backplane"}
	supplyWords = []string{"ps", "psu", "pin", "pout", "supply", "supplies"}
	wholeWords  = []string{"system", "server", "chassis", "platform", "enclosure", "machine", "node"}
)

// widthOf returns what a vendor's text means for a sensor.
func widthOf(text string) width {
	switch {
	case hasWord(text, partWords...):
		return part
	case hasWord(text, "total"):
		return whole
	case hasWord(text, supplyWords...):
		return supply
	case hasWord(text, wholeWords...):
		return whole
	}
	return unnamed
}

// hasWord reports whether a word of a text has one of the beginnings, of which those of two
// letters are words.
func hasWord(text string, beginnings ...string) bool {
	return slices.ContainsFunc(wordsOf(text), func(word string) bool {
		return slices.ContainsFunc(beginnings, func(b string) bool {
			return word == b || len(b) > 2 && strings.HasPrefix(word, b)
		})
	})
}

// wordsOf are the words of a text in small letters. A capital begins one within PowerSupply1.
func wordsOf(text string) []string {
	var b strings.Builder
	small := false
	for _, r := range text {
		if small && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) })
}

// isOutput reports whether a supply's sensor is behind it, and shows what one in front shows
// less its loss.
func isOutput(text string) bool {
	return hasWord(text, "out", "pout")
}
