package main

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
)

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
