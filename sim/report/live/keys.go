package live

import (
	"bytes"
	"unicode/utf8"
)

// key is what a person presses: a letter, or one of the constants here, which are none.
type key rune

// Keys that are no letters.
const (
	keyUp key = -1 - iota
	keyDown
	keyLeft
	keyRight
	keyPageUp
	keyPageDown
	keyHome
	keyEnd
	keyEnter
	keyEscape
	keyBackspace
	keyTab
	// keyInterrupt is Ctrl-C, keySuspend Ctrl-Z, keyRepaint Ctrl-L.
	keyInterrupt
	keySuspend
	keyRepaint
)

// controls are the keys that a terminal sends as one byte.
var controls = map[byte]key{
	'\r': keyEnter, '\n': keyEnter, '\t': keyTab, 0x7f: keyBackspace, 0x08: keyBackspace, 0x03: keyInterrupt, 0x0c: keyRepaint, 0x1a: keySuspend,
}

// sequences are those that it sends after an escape, by what ends them.
var sequences = map[string]key{
	"[A": keyUp, "[B": keyDown, "[C": keyRight, "[D": keyLeft, "[H": keyHome, "[F": keyEnd,
	"OA": keyUp, "OB": keyDown, "OC": keyRight, "OD": keyLeft, "OH": keyHome, "OF": keyEnd,
	"[1~": keyHome, "[7~": keyHome, "[4~": keyEnd, "[8~": keyEnd, "[5~": keyPageUp, "[6~": keyPageDown,
}

// longestSequence is more than any terminal sends for a key.
const longestSequence = 32

// parameters are the bytes that stand before what ends a sequence.
const parameters = "0123456789:;<=>? !\"#$%&'()*+,-./"

// decoder makes keys of what a terminal sends, in whatever pieces that comes. What means
// no key is left out. The zero value is ready; a Decoder is for one goroutine.
type decoder struct{ rest []byte }

// feed returns the keys that are complete with p.
func (d *decoder) feed(p []byte) []key {
	d.rest = append(d.rest, p...)
	var keys []key
	for len(d.rest) > 0 {
		key, n := first(d.rest)
		if n == 0 {
			break
		}
		if key != 0 {
			keys = append(keys, key)
		}
		d.rest = d.rest[n:]
	}
	return keys
}

// flush returns the key that is pending when nothing follows: an escape alone is one.
func (d *decoder) flush() []key {
	alone := len(d.rest) == 1 && d.rest[0] == escape
	d.rest = d.rest[:0]
	if alone {
		return []key{keyEscape}
	}
	return nil
}

const escape = 0x1b

// first returns the first key, 0 for none, and of how many bytes; 0 for one that is not
// complete.
func first(p []byte) (key, int) {
	switch key, control := controls[p[0]]; {
	case p[0] == escape:
		return sequence(p)
	case control:
		return key, 1
	case p[0] < ' ':
		return 0, 1
	case !utf8.FullRune(p):
		return 0, 0
	}
	r, n := utf8.DecodeRune(p)
	if r == utf8.RuneError {
		return 0, n
	}
	return key(r), n
}

// sequence is first for what begins with an escape.
func sequence(p []byte) (key, int) {
	switch {
	case len(p) == 1:
		return 0, 0
	case p[1] == escape:
		return keyEscape, 1
	case p[1] != '[' && p[1] != 'O':
		return 0, 2 // a letter with Alt
	}
	from := 2
	if most := p[2:min(len(p), longestSequence)]; p[1] == '[' {
		from += len(most) - len(bytes.TrimLeft(most, parameters))
	}
	switch {
	case from == longestSequence:
		return 0, from
	case from == len(p):
		return 0, 0
	}
	return sequences[string(p[1:from+1])], from + 1
}
