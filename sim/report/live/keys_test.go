package live_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim/report/live"
)

func TestKeys(t *testing.T) {
	for sent, want := range map[string][]live.Key{
		"q節":                                {'q', '節'},
		"\x1b[A\x1b[B\x1bOC\x1b[D":          {live.Up, live.Down, live.Right, live.Left},
		"\x1b[5~\x1b[6~\x1b[H\x1b[4~\x1bOF": {live.PageUp, live.PageDown, live.Home, live.End, live.End},
		"\r\t\x7f\x08":                      {live.Enter, live.Tab, live.Backspace, live.Backspace},
		"\x03\x1a\x0c":                      {live.Interrupt, live.Suspend, live.Repaint},
		"\x1b[1;5Aa":                        {'a'}, // Ctrl-Up, which means nothing
		"\x1b[<0;3;4Ma\x1bxb":               {'a', 'b'},
		"\xffa\x00":                         {'a'},
		"\x1b\x1b[A":                        {live.Escape, live.Up},
	} {
		var d live.Decoder
		if diff := cmp.Diff(want, d.Feed([]byte(sent))); diff != "" || d.Pending() {
			t.Errorf("%q (-want +got):\n%s", sent, diff)
		}
		// The same in single bytes.
		var got []live.Key
		for i := range len(sent) {
			got = append(got, d.Feed([]byte{sent[i]})...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q byte by byte (-want +got):\n%s", sent, diff)
		}
	}
}

func TestEscapeAlone(t *testing.T) {
	var d live.Decoder
	if keys := d.Feed([]byte("a\x1b")); !slices.Equal(keys, []live.Key{'a'}) || !d.Pending() {
		t.Errorf("%v", keys)
	}
	if keys := d.Flush(); !slices.Equal(keys, []live.Key{live.Escape}) || d.Pending() {
		t.Errorf("%v", keys)
	}
	if d.Feed([]byte("\x1b[1")); d.Flush() != nil || d.Pending() {
		t.Error("half a sequence is a key")
	}
}

// However bytes are cut into pieces, the keys are the same, and little is kept.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\x1b[A\x1b[5~\xe7\xaf\x80"), 3)
	f.Add([]byte("\x1b[00000000000000000000000000000000000000000000000000"), 7)
	f.Fuzz(func(t *testing.T, sent []byte, piece int) {
		piece = 1 + (piece%16+16)%16
		var whole, parts live.Decoder
		want := append(whole.Feed(sent), whole.Flush()...)
		var got []live.Key
		for p := range slices.Chunk(sent, piece) {
			got = append(got, parts.Feed(p)...)
		}
		got = append(got, parts.Flush()...)
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
