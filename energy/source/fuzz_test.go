package source_test

import (
	"math"
	"math/big"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/spazio-scheduler/spazio/energy/source"
)

var digits = regexp.MustCompile(`\A[0-9]{1,20}\n?\z`)

// FuzzParseCounter against big integers.
func FuzzParseCounter(f *testing.F) {
	for _, s := range []string{"0\n", "12", "18446744073709551615\n", "18446744073709551616\n", "-1", "0x1", "", "007\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := source.ParseCounter(text)
		want, ok := new(big.Int), digits.Match(text)
		if ok {
			trimmed := text
			if trimmed[len(trimmed)-1] == '\n' {
				trimmed = trimmed[:len(trimmed)-1]
			}
			want.SetString(string(trimmed), 10)
			ok = want.IsUint64()
		}
		if (err == nil) != ok || ok && want.Uint64() != v {
			t.Fatalf("%q: %v, %v", text, v, err)
		}
	})
}

// FuzzParseRedfish: the result is an error, or a power.
func FuzzParseRedfish(f *testing.F) {
	f.Add([]byte(`{"PowerControl":[{"PowerConsumedWatts":210.5},{}]}`))
	f.Add([]byte(`{"PowerControl":[{"PowerConsumedWatts":1e400}]}`))
	f.Add([]byte(`{"PowerControl":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if watts, err := source.ParseRedfish(body); err == nil && (!(watts >= 0) || math.IsInf(watts, 0)) {
			t.Fatal(watts)
		}
	})
}

// FuzzPowercap reads a zone of any contents: it is refused, or a counter with a name.
func FuzzPowercap(f *testing.F) {
	f.Add("package-0\n", "262143328850\n", "5\n")
	f.Add("", "-1", "\x00")
	f.Fuzz(func(t *testing.T, name, limit, counter string) {
		at := "intel-rapl:0/"
		root := files(t, map[string]string{at + "name": name, at + "max_energy_range_uj": limit, at + "energy_uj": counter})
		p, err := source.NewPowercap(source.PowercapConfig{Root: filepath.Clean(root)})
		if err != nil {
			return
		}
		defer p.Close()
		readings, err := p.ReadTo(nil, start)
		if (len(readings) == 1) != (err == nil) || len(readings) == 1 && readings[0].Zone == "" {
			t.Fatal(readings, err)
		}
	})
}
