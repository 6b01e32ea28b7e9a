package main

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
)

// TestVerify: two clones agree, and the bill of materials is what was linked.
func TestVerify(t *testing.T) {
	root := newTree(t, nil)
	t.Setenv("IMAGES_COMMAND", "1")
	code, stdout, stderr := invoke(t, "-root", root, "-verify", "-only", "agent", "-platforms", "linux/"+runtime.GOARCH)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if !strings.Contains(stdout, "3 modules") {
		t.Errorf("said %q, want three modules: cmd, lib and dep", stdout)
	}
}

// TestDifferent: images that differ are told, by their names.
func TestDifferent(t *testing.T) {
	root := newTree(t, nil)
	args := []string{"-only", "agent,scheduler", "-platforms", "linux/" + runtime.GOARCH}
	first := made(t, root, args...)
	writeFiles(t, root, map[string]string{"lib/lib.go": "package lib\n\nconst Word = \"another word\"\n"})
	second := made(t, root, args...)
	if err := same(first, first); err != nil {
		t.Error(err)
	}
	if err := same(first, second); err == nil || !strings.Contains(err.Error(), "spazio-agent@"+second[0].digest.String()) {
		t.Errorf("said %v of two trees", err)
	}
	if err := same(first, first[:1]); err == nil {
		t.Error("one of two images is missing, and nothing is said")
	}
	other := image{first[0].name, first[0].digest, []part{{first[0].parts[0].Image, first[0].parts[0].platform, []byte("{}")}}}
	if err := same(first[:1], []image{other}); err == nil {
		t.Error("another bill of materials, and nothing is said")
	}
}

// TestCheck: an image that is too large, or whose bill of materials is not its
// program's, is told.
func TestCheck(t *testing.T) {
	images := made(t, newTree(t, nil), "-only", "agent,scheduler", "-platforms", "linux/"+runtime.GOARCH)
	good := images[0]
	if err := good.check(io.Discard); err != nil {
		t.Fatal(err)
	}
	for want, bill := range map[string][]byte{
		"example.org/dep@v1.2.3":       images[1].parts[0].bill,
		"example.org/dep@v1.2.4":       bytes.ReplaceAll(good.parts[0].bill, []byte("v1.2.3"), []byte("v1.2.4")),
		"not a valid SPDX":             []byte("[]"),
		"does not contain spdxVersion": []byte("{}"),
	} {
		bad := image{good.name, good.digest, []part{{good.parts[0].Image, good.parts[0].platform, bill}}}
		if err := bad.check(io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("said %v, want %s", err, want)
		}
	}
	unnamed := image{"spazio-certs", good.digest, good.parts}
	if err := unnamed.check(io.Discard); err == nil {
		t.Error("the program is missing, and nothing is said")
	}
	limit := limits[good.name]
	defer func() { limits[good.name] = limit }()
	limits[good.name] = 1e5
	if err := good.check(io.Discard); err == nil || !strings.Contains(err.Error(), "100000") {
		t.Errorf("said %v of an image that is too large", err)
	}
}
