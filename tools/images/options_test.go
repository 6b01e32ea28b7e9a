package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

func TestHostileOptions(t *testing.T) {
	for _, args := range [][]string{
		nil,
		{"-to", ""},
		{"-to", "layout"},
		{"-to", "layout:"},
		{"-to", "layout:x"},
		{"-to", "tar:x.tar"},
		{"-to", "layout:/x", "-digests", "digests.json"},
		{"-to", "disk:/tmp/x"},
		{"-to", ":x"},
		{"-to", "push:"},
		{"-to", "push:nohost/path"},
		{"-to", "push:nohost"},
		{"-to", "push:host:port/x"},
		{"-to", "push:http://host/x"},
		{"-to", "push:127.0.0.1:5000/UPPER"},
		{"-to", "push:127.0.0.1:5000/a b"},
		{"-to", "push:127.0.0.1:5000/x@sha256:00"},
		{"-to", "push:127.0.0.1:5000", "-tag", ""},
		{"-to", "layout:/x", "-tag", "a/b"},
		{"-to", "layout:/x", "-tag", strings.Repeat("a", 129)},
		{"-to", "layout:/x", "-insecure"},
		{"-to", "layout:/x", "-only", "nobody"},
		{"-to", "layout:/x", "-only", "../../etc"},
		{"-to", "layout:/x", "-only", "agent,"},
		{"-to", "layout:/x", "-only", "agent,agent"},
		{"-to", "layout:/x", "-only", "agent,chart"},
		{"-to", "layout:/x", "-only", "agent,spazio-agent"},
		{"-to", "layout:/x", "-platforms", "linux/arm64,linux/arm64"},
		{"-to", "layout:/x", "-platforms", "linux/arm64", "-all"},
		{"-to", "layout:/x", "-platforms", "windows/amd64"},
		{"-to", "layout:/x", "-platforms", "linux/amd64/v3"},
		{"-to", "layout:/x", "-platforms", "a/b/c/d"},
		{"-to", "layout:/x", "-platforms", "linux"},
		{"-to", "layout:/x", "stray"},
		{"-to", "layout:/x", "-kubernetes", "../../.."},
		{"-to", "layout:/x", "-kubernetes", "1.35", "-only", "agent"},
		{"-to", "layout:/x", "-kubernetes", "1.35", "-only", "scheduler,agent"},
		{"-to", "layout:/x", "-kubernetes", "1.35", "-tag", strings.Repeat("a", 121)},
	} {
		if _, err := parse(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
	for _, args := range [][]string{{"-nonsense"}, {"-all=perhaps"}, {"-to"}} {
		if code, _, stderr := invoke(t, args...); code != 2 || stderr == "" {
			t.Errorf("%q: exit code %d, %q", args, code, stderr)
		}
	}
	if code, _, stderr := invoke(t, "-h"); code != 0 || !strings.Contains(stderr, "-kubernetes") {
		t.Errorf("-h: exit code %d, %q", code, stderr)
	}
}

func TestChoice(t *testing.T) {
	own := []string{"linux/" + runtime.GOARCH}
	both := []string{"linux/amd64", "linux/arm64"}
	for _, c := range []struct {
		args      []string
		agent     []string
		scheduler []string
	}{
		{nil, both, own},
		{[]string{"-all"}, both, both},
		{[]string{"-platforms", "linux/arm64"}, []string{"linux/arm64"}, []string{"linux/arm64"}},
	} {
		opts, err := parse(append([]string{"-to", "layout:/x"}, c.args...), &bytes.Buffer{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for _, p := range opts.programs {
			for _, platform := range p.platforms {
				got[p.name] = append(got[p.name], platform)
			}
		}
		if len(got) != len(names) || !slices.Equal(got["spazio-agent"], c.agent) || !slices.Equal(got["spazio-scheduler"], c.scheduler) {
			t.Errorf("%q: %v", c.args, got)
		}
	}
}

// Images that no installation runs are built only on request.
func TestBuiltOnRequestOnly(t *testing.T) {
	opts, err := parse([]string{"-to", "layout:/x", "-only", "testapp"}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if len(opts.programs) != 1 || opts.programs[0].name != "spazio-testapp" {
		t.Errorf("%+v", opts.programs)
	}
	if _, err := os.Stat("../../cmd/spazio-testapp/main.go"); err != nil {
		t.Error(err)
	}
}

// TestNames: the images are those in the chart.
func TestNames(t *testing.T) {
	text, err := os.ReadFile("../../cmd/deploy/chart/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Properties map[string]json.RawMessage
	}
	at := func(raw []byte, property string) json.RawMessage {
		var s schema
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		return s.Properties[property]
	}
	var digests schema
	if err := json.Unmarshal(at(at(text, "images"), "digests"), &digests); err != nil {
		t.Fatal(err)
	}
	others, err := filepath.Glob("../kubernetes/*/go.work")
	if err != nil || len(others) == 0 {
		t.Fatal(others, err)
	}
	want := slices.Clone(names)
	for _, file := range others {
		want = append(want, scheduler+"-k8s"+filepath.Base(filepath.Dir(file)))
	}
	slices.Sort(want)
	if chart := slices.Sorted(maps.Keys(digests.Properties)); !slices.Equal(chart, want) {
		t.Errorf("got %q in the chart, %q in this module", chart, want)
	}
}

// TestKoVersion: bills of materials have the version of ko.
func TestKoVersion(t *testing.T) {
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("\tgithub.com/google/ko "+koVersion+"\n")) {
		t.Errorf("go.mod does not require ko %s", koVersion)
	}
}

func TestNoSource(t *testing.T) {
	tree := newTree(t, nil)
	with := func(work string) string {
		dir := t.TempDir()
		writeFiles(t, dir, map[string]string{"go.work": work})
		git(t, dir, "init", "--quiet")
		commit(t, dir)
		return dir
	}
	bare := t.TempDir()
	git(t, bare, "init", "--quiet")
	for name, root := range map[string]string{
		"nothing":         filepath.Join(tree, "nowhere"),
		"no repository":   t.TempDir(),
		"no commit":       bare,
		"bad workspace":   with("what?"),
		"no toolchain":    with("go 1.26.0\n"),
		"other toolchain": with("go 1.26.0\n\ntoolchain go1.27.1\n"),
	} {
		code, _, stderr := invoke(t, "-root", root, "-to", "layout:"+filepath.Join(t.TempDir(), "images"))
		if code != 1 || !strings.HasPrefix(stderr, "images: ") {
			t.Errorf("%s: exit code %d, %s", name, code, stderr)
		}
	}
}

// A replaced module without a sum is listed with what is known of it.
func TestBillOfModulesWithoutSums(t *testing.T) {
	document := []byte(`{"spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT", "packages": [{"name": "example.org/a", "SPDXID": "SPDXRef-a"}]}`)
	for sum, why := range map[string]string{
		"":        `sum "" of example.org/a v1.2.3: it is empty`,
		"h1:":     `sum "h1:" of example.org/a v1.2.3: it is empty`,
		"h1:,,,,": `sum "h1:,,,," of example.org/a v1.2.3: illegal base64 data at input byte 0`,
	} {
		info := &buildinfo.BuildInfo{Deps: []*debug.Module{{Path: "example.org/a", Version: "v1.0.0", Replace: &debug.Module{Version: "v1.2.3", Sum: sum}}}}
		if _, err := correct(document, info); err == nil || err.Error() != why {
			t.Errorf("%q: %v, want %s", sum, err, why)
		}
	}
}
