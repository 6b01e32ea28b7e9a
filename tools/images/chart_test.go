package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	helm "helm.sh/helm/v4/pkg/registry"
)

// chartIn are the files of this tree's chart.
func chartIn(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	tree := os.DirFS("../..")
	if err := fs.WalkDir(tree, chartDirectory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		files[path] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// What Helm pulls from a registry is the chart, which names the images that are there.
func TestChart(t *testing.T) {
	root := newTree(t, chartIn(t))
	address := serve(t, registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo))))
	digests := filepath.Join(t.TempDir(), "digests.json")
	known := map[string]any{"spazio-agent": "sha256:" + strings.Repeat("a", 64)}
	if err := os.WriteFile(digests, must(json.Marshal(known)), 0o644); err != nil {
		t.Fatal(err)
	}
	push := func() string {
		code, stdout, stderr := invoke(t, "-root", root, "-to", "push:"+address+"/team", "-tag", "v7", "-only", "chart", "-digests", digests)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		return stdout
	}
	first := push()
	if again := push(); again != first || !strings.HasPrefix(first, address+"/team/spazio@sha256:") {
		t.Errorf("printed %q, then %q", first, again)
	}
	client, err := helm.NewClient(helm.ClientOptPlainHTTP(), helm.ClientOptCredentialsFile(filepath.Join(t.TempDir(), "none")))
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := client.Pull(address + "/team/spazio:0.1.0-dev")
	if err != nil {
		t.Fatal(err)
	}
	c, err := loader.LoadArchive(bytes.NewReader(pulled.Chart.Data))
	if err != nil {
		t.Fatal(err)
	}
	if pulled.Chart.Meta.Name != "spazio" || c.Name() != "spazio" || c.Metadata.Version != "0.1.0-dev" || c.AppVersion() != "v7" {
		t.Errorf("metadata %+v, in the registry %+v", c.Metadata, pulled.Chart.Meta)
	}
	images := c.Values["images"].(map[string]any)
	got, want := images["digests"].(map[string]any), known["spazio-agent"]
	if images["registry"] != address+"/team" || images["tag"] != "v7" || len(got) != 1 || got["spazio-agent"] != want {
		t.Errorf("images %v", images)
	}
	packed := map[string]bool{}
	for _, f := range c.Raw {
		packed[f.Name] = true
		of, err := os.ReadFile(filepath.Join("../..", chartDirectory, f.Name))
		if changed := f.Name == "values.yaml" || f.Name == "Chart.yaml"; err != nil || bytes.Equal(of, f.Data) == changed {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	for _, name := range []string{"templates/agent.yaml", "values.schema.json", "files/crd/profile.spazio-scheduler.github.io_workloadprofiles.yaml"} {
		if !packed[name] {
			t.Errorf("no %s", name)
		}
	}
	if packed["ci/testbed-values.yaml"] {
		t.Error("the tests' values are in it")
	}
}

// A chart that would name no image, and a file of digests that is not there, are refused.
func TestChartRefused(t *testing.T) {
	to := []string{"-to", "layout:" + filepath.Join(t.TempDir(), "layout"), "-only", "chart"}
	files := chartIn(t)
	files[chartDirectory+"/values.yaml"] = strings.Replace(files[chartDirectory+"/values.yaml"], unpublished, "elsewhere", 1)
	root := newTree(t, files)
	if code, _, stderr := invoke(t, append(to, "-root", root)...); code != 1 || !strings.Contains(stderr, "values.yaml") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := invoke(t, append(to, "-root", root, "-digests", filepath.Join(t.TempDir(), "nowhere.json"))...); code != 1 || !strings.Contains(stderr, "nowhere.json") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
