package spazioctl_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const oldJob = `apiVersion: batchjob.gcr.io/v1alpha1
kind: BatchJob
metadata: {name: pi}
spec: {sparkSpec: {type: Scala}, creationRequest: {replication: 2}}
`

const newJob = `apiVersion: testbed.spazio-scheduler.github.io/v1alpha1
kind: BatchJob
metadata:
  name: pi
spec:
  sparkSpec:
    type: Scala
`

func TestConvert(t *testing.T) {
	file := filepath.Join(t.TempDir(), "old.yaml")
	if err := os.WriteFile(file, []byte(oldJob), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t.Context(), "convert", "-f", file)
	if code != 0 || out != newJob || errs != "BatchJob/pi: spec.creationRequest is left out\n" {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := run(t.Context(), "convert", "--filename", file); code != 1 || out != "" || !strings.Contains(errs, "document 0") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	if code, _, errs := run(t.Context(), "convert", "-f", file+"s"); code != 1 || !strings.Contains(errs, "old.yamls") {
		t.Errorf("%d: %s", code, errs)
	}
}
