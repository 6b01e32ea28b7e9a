package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// run mutates the sample and returns the output by lines, without the directory of the lists.
func run(t *testing.T, o options) ([]string, error) {
	t.Helper()
	t.Setenv("GOWORK", "off")
	slack = 2 * time.Second
	var out bytes.Buffer
	err := mutate(context.Background(), "testdata/sample", o, &out, io.Discard)
	dir, absErr := filepath.Abs("testdata/sample")
	if absErr != nil {
		t.Fatal(absErr)
	}
	text := strings.ReplaceAll(strings.TrimSpace(out.String()), dir+string(filepath.Separator), "")
	return strings.Split(text, "\n"), err
}

// The mutants that the sample's tests kill follow from reading them.
func TestVerdicts(t *testing.T) {
	got, err := run(t, options{minimum: 75})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"survived  sample.go:13: Clamp: boundary: x > high -> x >= high",
		"survived  sample.go:29: (*Counter[T]).Add: removal: c.last = v -> nothing",
		"survived  sample.go:36: Countdown: boundary: n < 0 -> n <= 0",
		"uncovered sample.go:47: Untested: logic: a && !b -> a || !b",
		"uncovered sample.go:47: Untested: sign: !b -> b",
		"testdata/mutants.txt:3: listed, but TestOver kills it",
		"testdata/mutants.txt:4: listed, but there is no such mutant",
		"sample: 24 of 24 mutants tried, 18 killed (75.0 %), 6 survived, 1 of them listed as equivalent",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMinimum(t *testing.T) {
	if _, err := run(t, options{minimum: 75.1}); !errors.Is(err, errTooFew) {
		t.Errorf("three quarters killed with a minimum of 75.1 %%: got error %v", err)
	}
}

// A seed determines the sample, another seed gives another, and entries of a list outside the sample do
// not count as missing.
func TestSample(t *testing.T) {
	var lines [][]string
	for _, seed := range []uint64{1, 1, 2} {
		got, err := run(t, options{sample: 6, seed: seed, verbose: true})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(got[len(got)-1], "sample: 6 of 24 mutants tried") {
			t.Errorf("%s", got[len(got)-1])
		}
		if strings.Contains(strings.Join(got, "\n"), "no such mutant") {
			t.Errorf("a sample checked the list:\n%s", strings.Join(got, "\n"))
		}
		for i := range got {
			got[i], _, _ = strings.Cut(got[i], "  (")
		}
		lines = append(lines, got)
	}
	if !slices.Equal(lines[0], lines[1]) {
		t.Errorf("seed 1 twice:\n%v\n%v", lines[0], lines[1])
	}
	if slices.Equal(lines[0], lines[2]) {
		t.Errorf("seeds 1 and 2 alike:\n%v", lines[0])
	}
}

func TestInterrupted(t *testing.T) {
	t.Setenv("GOWORK", "off")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := mutate(ctx, "testdata/sample", options{}, io.Discard, io.Discard)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestListErrors(t *testing.T) {
	for _, line := range []string{"a.go\tF\tx -> y", "a.go F x -> y why", "a.go\tF\tx -> y\t "} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "testdata"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, listName), []byte("# a comment\n\n"+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := readList(map[string]string{}, dir); err == nil || !strings.Contains(err.Error(), "mutants.txt:3") {
			t.Errorf("%q: %v", line, err)
		}
	}
}
