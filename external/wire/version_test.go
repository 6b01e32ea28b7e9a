package wire_test

import (
	"math/big"
	"testing"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// Versions are compared as numbers of any length.
func FuzzCompareVersions(f *testing.F) {
	for _, pair := range [][2]string{{"1", "2"}, {"9", "10"}, {"18446744073709551616", "18446744073709551615"}, {"0", "1"}, {"", "1"}, {"01", "1"}, {"-1", "1"}, {"+1", "1"}, {"1_0", "9"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		got, err := wire.CompareVersions(a, b)
		x, y := number(a), number(b)
		if (err != nil) != (x == nil || y == nil) {
			t.Fatalf("%q %q: %v", a, b, err)
		}
		if err == nil && got != x.Cmp(y) {
			t.Fatalf("%q %q: %d, want %d", a, b, got, x.Cmp(y))
		}
	})
}

// number returns the positive number of which the text is the canonical spelling, else nil.
func number(text string) *big.Int {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok || n.Sign() <= 0 || n.String() != text {
		return nil
	}
	return n
}
