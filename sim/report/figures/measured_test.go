package figures

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

// example is a recording that figure 4.3 can be drawn from.
const example = `{"version":1,"machine":{"cpu":"a CPU","cores":2,"memory":8e9,"kernel":"6.18","day":"2026-11-21"},"runs":[{
"load":"pi","workers":1,"at":[0.1,0.2],"utilisation":[1,0.5],"pressure":[0,1],"avg10":[0.1,0.1],"memory":[0.3,0.3],"stall":[0,0],
"jobs":[{"batch":0,"worker":2,"start":-0.1,"end":0.3,"cpu":0.4}],"marks":[{"name":"exited","at":0.3,"pod":0}]}]}`

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// drawn makes figure 4.3 from a recording.
func drawn(t testing.TB, recording []byte) error {
	t.Helper()
	chosen, err := ByID("4.3")
	if err != nil {
		t.Fatal(err)
	}
	_, err = chosen[0].Make(t.Context(), Params{Data: fstest.MapFS{"sweep.json.gz": &fstest.MapFile{Data: recording}}})
	return err
}

func TestRecordings(t *testing.T) {
	if err := drawn(t, zipped(t, example)); err != nil {
		t.Errorf("the example: %v", err)
	}
	for name, change := range map[string][2]string{
		"version":       {`"version":1`, `"version":2`},
		"no cores":      {`"cores":2`, `"cores":0`},
		"a value short": {`"stall":[0,0]`, `"stall":[0]`},
		"no share":      {`"pressure":[0,1]`, `"pressure":[0,1.01]`},
		"below 0":       {`"memory":[0.3,0.3]`, `"memory":[-0.3,0.3]`},
		"time stands":   {`"at":[0.1,0.2]`, `"at":[0.1,0.1]`},
		"time is ∞":     {`"at":[0.1,0.2]`, `"at":[0.1,1e999]`},
		"job runs back": {`"end":0.3`, `"end":-1`},
		"cut off":       {`]}]}`, `]}`},
	} {
		spoiled := strings.Replace(example, change[0], change[1], 1)
		if spoiled == example {
			t.Fatalf("%s: nothing replaced", name)
		}
		if err := drawn(t, zipped(t, spoiled)); !errors.Is(err, errFormat) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for _, text := range []string{"", "plain text", "\x1f\x8b"} {
		if err := drawn(t, []byte(text)); !errors.Is(err, errFormat) {
			t.Errorf("%q: error %v", text, err)
		}
	}
	if err := drawn(t, zipped(t, strings.Replace(example, `"pi"`, `"other"`, 1))); !errors.Is(err, ErrNoRun) {
		t.Errorf("without a run of the load: %v", err)
	}
}

func FuzzRecording(f *testing.F) {
	f.Add([]byte(example), false)
	f.Add([]byte(`{"version":1,"machine":{"cores":1},"runs":[{"at":[1e999]}]}`), false)
	if data, err := os.ReadFile(filepath.Join("testdata", "empty", "sweep.json.gz")); err == nil {
		f.Add(data, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, packed bool) {
		if !packed { // reach the JSON
			data = zipped(t, string(data))
		}
		if err := drawn(t, data); err != nil && !errors.Is(err, errFormat) && !errors.Is(err, ErrNoRun) {
			t.Errorf("error %v", err)
		}
	})
}

// A small file that unpacks to many numbers is read only up to the size of a recording.
func TestReadIsBounded(t *testing.T) {
	packed := zipped(t, `{"runs":[{"at":[0`+strings.Repeat(",0", 16<<20)+`]}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := drawn(t, packed)
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; !errors.Is(err, errFormat) || took > 128 {
		t.Errorf("%v, %d MiB", err, took)
	}
}
