package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestVerify: builds of two clones are equal, and the bill of materials has the linked modules.
func TestVerify(t *testing.T) {
	root := newTree(t, nil)
	code, stdout, stderr := invoke(t, "-root", root, "-verify", "-only", "agent", "-platforms", "linux/"+runtime.GOARCH)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if !strings.Contains(stdout, "3 modules") {
		t.Errorf("got %q, want three modules: cmd, lib and dep", stdout)
	}
}

// TestDifferent: different images are reported with their names and digests, and so are different bills
// of materials.
func TestDifferent(t *testing.T) {
	root := newTree(t, nil)
	build := func() (dir string, images []image) {
		dir = filepath.Join(t.TempDir(), "images")
		if code, _, stderr := invoke(t, "-root", root, "-to", "layout:"+dir, "-only", "agent,scheduler", "-platforms", "linux/"+runtime.GOARCH); code != 0 {
			t.Fatal(stderr)
		}
		return dir, read(t, dir)
	}
	first, images := build()
	if again, _ := build(); same(first, again) != nil {
		t.Error(same(first, again))
	}
	bill := images[0].digest.String() // the digest that the agent's bill refers to precedes it
	index, err := os.ReadFile(filepath.Join(first, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndex(index, []byte("sha256:")) // of the scheduler's bill
	other := t.TempDir()
	writeFiles(t, other, map[string]string{"index.json": string(index[:last]) + bill + string(index[last+len(bill):])})
	if err := same(first, other); err == nil {
		t.Error("a different bill of materials was not reported")
	}
	writeFiles(t, root, map[string]string{"lib/lib.go": "package lib\n\nconst Word = \"another word\"\n"})
	second, changed := build()
	if err := same(first, second); err == nil || !strings.Contains(err.Error(), "spazio-agent:dev") || !strings.Contains(err.Error(), changed[0].digest.String()) {
		t.Errorf("two trees: got %v", err)
	}
}

// TestCheck: an image that is too large, or whose bill of materials does not match its program, is
// reported.
func TestCheck(t *testing.T) {
	images := made(t, newTree(t, nil), "-only", "agent,scheduler", "-platforms", "linux/"+runtime.GOARCH)
	good, s := images[0].parts[0], &source{log: io.Discard}
	if _, err := s.check("spazio-agent", good, good.bill); err != nil {
		t.Fatal(err)
	}
	for want, bills := range map[string][][]byte{
		"example.org/dep v1.2.3, which": {images[1].parts[0].bill, bytes.ReplaceAll(good.bill, []byte("v1.2.3"), []byte("v1.2.4"))},
		"lists 0":                       {nil, []byte("[]")},
		"lists 4":                       {append(good.bill, `{"pkg:golang/example.org/more@v1.0.0?type=module"}`...)},
	} {
		for _, bill := range bills {
			if _, err := s.check("spazio-agent", good, bill); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("said %v, want %s", err, want)
			}
		}
	}
	if _, err := s.check("spazio-certs", good, good.bill); err == nil {
		t.Error("a missing program was not reported")
	}
	limit := limits["spazio-agent"]
	defer func() { limits["spazio-agent"] = limit }()
	limits["spazio-agent"] = 1e5
	if _, err := s.check("spazio-agent", good, good.bill); err == nil || !strings.Contains(err.Error(), "100000") {
		t.Errorf("image that is too large: got %v", err)
	}
}
