package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var b strings.Builder
	b.WriteString("timestamp,cpu_cores,memory_bytes\n")
	for minute := range 24 * 60 {
		cores := .4
		if minute%60 == 0 { // a minute in sixty is below the 98th percentile
			cores = 1.9
		}
		fmt.Fprintf(&b, "%d,%v,3e8\n", 1793577600+60*minute, cores)
	}
	file := filepath.Join(t.TempDir(), "job.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(&out, []string{file}); err != nil {
		t.Fatal(err)
	}
	// The last hour's peak and 5 %, to the end of a bucket of 5 %; 300 MB and at
	// least 100 MiB.
	var millicores, megabytes int
	if n, err := fmt.Sscanf(out.String(), "cpu: %dm\nmemory: %dM\n", &millicores, &megabytes); n != 2 {
		t.Fatalf("%v in %q", err, out.String())
	}
	if millicores < 1995 || millicores > 2100 || megabytes < 405 || megabytes > 435 {
		t.Errorf("%s", out.String())
	}
	for _, args := range [][]string{nil, {"missing.csv"}, {file, file}} {
		if err := run(&out, args); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	empty := filepath.Join(t.TempDir(), "empty.csv")
	if err := os.WriteFile(empty, []byte("timestamp,cpu_cores\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(&out, []string{empty}); err == nil {
		t.Error("no samples are accepted")
	}
}
