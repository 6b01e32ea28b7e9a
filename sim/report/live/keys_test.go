package live

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeys(t *testing.T) {
	for sent, want := range map[string][]key{
		"q節":                                {'q', '節'},
		"\x1b[A\x1b[B\x1bOC\x1b[D":          {keyUp, keyDown, keyRight, keyLeft},
		"\x1b[5~\x1b[6~\x1b[H\x1b[4~\x1bOF": {keyPageUp, keyPageDown, keyHome, keyEnd, keyEnd},
		"\r\t\x7f\x08":                      {keyEnter, keyTab, keyBackspace, keyBackspace},
		"\x03\x1a\x0c":                      {keyInterrupt, keySuspend, keyRepaint},
		"\x1b[1;5Aa":                        {'a'}, // Ctrl-Up, which means nothing
		"\x1b[<0;3;4Ma\x1bxb":               {'a', 'b'},
		"\xffa\x00":                         {'a'},
		"\x1b\x1b[A":                        {keyEscape, keyUp},
	} {
		var d decoder
		if diff := cmp.Diff(want, d.feed([]byte(sent))); diff != "" || d.pending() {
			t.Errorf("%q (-want +got):\n%s", sent, diff)
		}
		// The same input comes in single bytes.
		var got []key
		for i := range len(sent) {
			got = append(got, d.feed([]byte{sent[i]})...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q byte by byte (-want +got):\n%s", sent, diff)
		}
	}
}

func TestEscapeAlone(t *testing.T) {
	var d decoder
	if keys := d.feed([]byte("a\x1b")); !slices.Equal(keys, []key{'a'}) || !d.pending() {
		t.Errorf("%v", keys)
	}
	if keys := d.flush(); !slices.Equal(keys, []key{keyEscape}) || d.pending() {
		t.Errorf("%v", keys)
	}
	if d.feed([]byte("\x1b[1")); d.flush() != nil || d.pending() {
		t.Error("half a sequence is a key")
	}
}

// However bytes are cut into pieces, the keys are the same, and little is buffered.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\x1b[A\x1b[5~\xe7\xaf\x80"), 3)
	f.Add([]byte("\x1b[00000000000000000000000000000000000000000000000000"), 7)
	f.Fuzz(func(t *testing.T, sent []byte, piece int) {
		piece = 1 + (piece%16+16)%16
		var whole, parts decoder
		want := append(whole.feed(sent), whole.flush()...)
		var got []key
		for p := range slices.Chunk(sent, piece) {
			got = append(got, parts.feed(p)...)
		}
		got = append(got, parts.flush()...)
		if !slices.Equal(want, got) {
			t.Fatalf("%q: %v, in pieces of %d %v", sent, want, piece, got)
		}
		for _, k := range got {
			if k == 0 {
				t.Fatal("a key that is none")
			}
		}
	})
}

// pending reports whether an incomplete sequence has come, such as an escape.
func (d *decoder) pending() bool { return len(d.rest) > 0 }
