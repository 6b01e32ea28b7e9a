package measured_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim/report/figures/measured"
)

func example() measured.Recording {
	return measured.Recording{
		Version: measured.Version,
		Machine: measured.Machine{CPU: "a CPU", Cores: 2, Memory: 8e9, Kernel: "6.18", Counter: "stat", Day: "2026-11-21"},
		Runs: []measured.Run{{
			Load: "busy", Workers: 3,
			At: []float64{.1, .2}, Utilisation: []float64{1, .5}, Pressure: []float64{0, 1},
			Avg10: []float64{.1, .1}, Memory: []float64{.3, .3}, Stall: []float64{0, 0},
			Jobs:  []measured.Job{{Batch: 0, Worker: 2, Start: -.1, End: .3, CPU: .4}},
			Marks: []measured.Mark{{Name: "exited", At: .3, Pod: 0}},
		}},
	}
}

func written(t testing.TB, r measured.Recording) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := measured.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	want := example()
	got, err := measured.Read(bytes.NewReader(written(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func TestRefuses(t *testing.T) {
	tests := map[string]func(*measured.Recording){
		"version":       func(r *measured.Recording) { r.Version = 2 },
		"no cores":      func(r *measured.Recording) { r.Machine.Cores = 0 },
		"a value short": func(r *measured.Recording) { r.Runs[0].Stall = r.Runs[0].Stall[:1] },
		"no share":      func(r *measured.Recording) { r.Runs[0].Pressure[1] = 1.01 },
		"no number":     func(r *measured.Recording) { r.Runs[0].Memory[0] = math.NaN() },
		"time stands":   func(r *measured.Recording) { r.Runs[0].At[1] = r.Runs[0].At[0] },
		"time is ∞":     func(r *measured.Recording) { r.Runs[0].At[1] = math.Inf(1) },
		"job runs back": func(r *measured.Recording) { r.Runs[0].Jobs[0].End = -1 },
	}
	for name, spoil := range tests {
		r := example()
		spoil(&r)
		if err := r.Validate(); !errors.Is(err, measured.ErrFormat) {
			t.Errorf("%s: error %v", name, err)
		}
		if err := measured.Write(&bytes.Buffer{}, r); !errors.Is(err, measured.ErrFormat) {
			t.Errorf("%s: written with error %v", name, err)
		}
	}
	for _, text := range []string{"", "plain text", "\x1f\x8b"} {
		if _, err := measured.Read(bytes.NewReader([]byte(text))); !errors.Is(err, measured.ErrFormat) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(written(f, example()), true)
	f.Add([]byte(`{"version":1,"machine":{"cores":1},"runs":[{"at":[1e999]}]}`), false)
	if data, err := os.ReadFile(filepath.Join("..", "testdata", "empty", "sweep.json.gz")); err == nil {
		f.Add(data, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, zipped bool) {
		if !zipped { // reach the JSON
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write(data)
			_ = z.Close()
			data = b.Bytes()
		}
		r, err := measured.Read(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, measured.ErrFormat) {
				t.Errorf("error %v", err)
			}
			return
		}
		if err := r.Validate(); err != nil {
			t.Errorf("read what is not valid: %v", err)
		}
	})
}

// TestReadIsBounded: of a small file that unpacks to many numbers no more is read than any
// recording has.
func TestReadIsBounded(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.WriteString(z, `{"runs":[{"at":[0`+strings.Repeat(",0", 16<<20)+`]}]}`); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := measured.Read(&packed)
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; !errors.Is(err, measured.ErrFormat) || took > 128 {
		t.Errorf("%v, %d MiB", err, took)
	}
}
