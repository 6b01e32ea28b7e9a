package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// invoke runs the command line and returns what it printed.
func invoke(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, complaints bytes.Buffer
	code = command(t.Context(), args, &out, &complaints)
	return code, out.String(), complaints.String()
}

// made runs the command line and returns the images of the layout that it made.
func made(t *testing.T, root string, args ...string) []image {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "images")
	if code, _, stderr := invoke(t, append([]string{"-root", root, "-to", "layout:" + dir}, args...)...); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	images, err := read(layout.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	return images
}

func TestImage(t *testing.T) {
	root := newTree(t, nil)
	images := made(t, root, "-only", "agent")
	if len(images) != 1 || images[0].name != "spazio-agent" || len(images[0].parts) != 2 {
		t.Fatalf("made %+v, want spazio-agent for two platforms", images)
	}
	seconds, err := strconv.ParseInt(git(t, root, "log", "-1", "--format=%ct"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"linux/amd64", "linux/arm64"} {
		p := images[0].parts[i]
		if p.platform != want {
			t.Errorf("platform %d is %s, want %s", i, p.platform, want)
		}
		config, err := p.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/ko-app/spazio-agent"}) {
			t.Errorf("%s runs %v as %s", want, config.Config.Entrypoint, config.Config.User)
		}
		if got := config.Created.Unix(); got != seconds {
			t.Errorf("%s was created at %d, the commit at %d", want, got, seconds)
		}
		files, err := p.files()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for name := range files {
			names = append(names, name)
		}
		slices.Sort(names)
		wantNames := []string{
			"etc/group",
			"etc/passwd",
			"ko-app/spazio-agent",
			"var/run/ko/LICENSE",
			"var/run/ko/licenses/example.org/dep@v1.2.3/LICENSE",
			"var/run/ko/licenses/example.org/dep@v1.2.3/part/NOTICE.txt",
			"var/run/ko/licenses/go/LICENSE",
		}
		if !slices.Equal(names, wantNames) {
			t.Errorf("%s holds %q, want %q", want, names, wantNames)
		}
		if got := string(files["var/run/ko/LICENSE"]); got != tiny["LICENSE"] {
			t.Errorf("%s has the licence %q", want, got)
		}
		if want == runtime.GOOS+"/"+runtime.GOARCH {
			if got := start(t, files["ko-app/spazio-agent"]); got != "from the sibling" {
				t.Errorf("the program says %q", got)
			}
		}
	}
}

// start runs a program that was taken from an image.
func start(t *testing.T, binary []byte, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), file, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestAgent: this repository's agent is small enough for every node, and starts.
func TestAgent(t *testing.T) {
	restoreEnvironment(t)
	arch := runtime.GOARCH
	if arch != "arm64" {
		arch = "amd64"
	}
	images := made(t, "../..", "-only", "agent", "-platforms", "linux/"+arch)
	if err := images[0].check(t.Output()); err != nil {
		t.Error(err)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != arch {
		return
	}
	files, err := images[0].parts[0].files()
	if err != nil {
		t.Fatal(err)
	}
	if got := start(t, files["ko-app/spazio-agent"], "--help"); !strings.Contains(got, "--listen") {
		t.Errorf("--help says %s", got)
	}
}

// TestScheduler: it says what Kubernetes it is, and is made for this machine alone.
func TestScheduler(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return // it would be made for a platform that this machine does not run
	}
	images := made(t, newTree(t, nil), "-only", "scheduler")
	if len(images[0].parts) != 1 {
		t.Fatalf("made for %d platforms", len(images[0].parts))
	}
	files, err := images[0].parts[0].files()
	if err != nil {
		t.Fatal(err)
	}
	if got := start(t, files["ko-app/spazio-scheduler"]); got != "v1.36.3 of 36" {
		t.Errorf("it says it is %q", got)
	}
}

// TestEnvironment: what is set in the environment changes nothing.
func TestEnvironment(t *testing.T) {
	root := newTree(t, nil)
	args := []string{"-only", "agent", "-platforms", "linux/" + runtime.GOARCH}
	plain := made(t, root, args...)
	for name, value := range map[string]string{
		"GOOS": "darwin", "GOARCH": "386", "GOFLAGS": "-tags=strange -mod=mod", "GOAMD64": "v3", "GOARM64": "v9.0",
		"GOEXPERIMENT": "greenteagc", "GOWORK": "off", "CGO_ENABLED": "1", "KO_GO_PATH": "/nowhere",
	} {
		t.Setenv(name, value)
	}
	if strange := made(t, root, args...); strange[0].digest != plain[0].digest {
		t.Errorf("%s, without the settings %s", strange[0].digest, plain[0].digest)
	}
}

// TestIncompleteSums: what the toolchain adds to go.work.sum does not change the tree.
func TestIncompleteSums(t *testing.T) {
	root := newTree(t, map[string]string{"cmd/go.sum": ""})
	images := made(t, root, "-only", "agent", "-platforms", "linux/"+runtime.GOARCH)
	if changes := git(t, root, "status", "--porcelain"); changes != "" {
		t.Errorf("changed %s", changes)
	}
	files, err := images[0].parts[0].files()
	if err != nil {
		t.Fatal(err)
	}
	modules, err := linkedModules(files["ko-app/spazio-agent"])
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.Join(modules, " "), "dirty") {
		t.Errorf("the program is built from %q", modules)
	}
}

func TestUnlicensed(t *testing.T) {
	root := newTree(t, map[string]string{
		"cmd/go.mod":               strings.Replace(tiny["cmd/go.mod"], "require (", "require (\n\texample.org/unlicensed v0.1.0", 1),
		"cmd/spazio-agent/main.go": "package main\n\nimport \"example.org/unlicensed\"\n\nfunc main() { unlicensed.Do() }\n",
	})
	dir := filepath.Join(t.TempDir(), "images")
	code, _, stderr := invoke(t, "-root", root, "-to", "layout:"+dir, "-only", "agent")
	if code != 1 || !strings.Contains(stderr, "example.org/unlicensed@v0.1.0") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	nothingIn(t, filepath.Dir(dir))
}

// stopAfterFirst cancels when the first image is done.
type stopAfterFirst struct {
	stop    context.CancelFunc
	written int
}

func (s *stopAfterFirst) Write(p []byte) (int, error) {
	s.stop()
	s.written++
	return len(p), nil
}

// TestInterrupted: of a build that is stopped after its first image nothing is left.
func TestInterrupted(t *testing.T) {
	root := newTree(t, nil)
	for _, kind := range []string{"layout", "tar"} {
		parent := t.TempDir()
		ctx, stop := context.WithCancel(t.Context())
		first := &stopAfterFirst{stop: stop}
		code := command(ctx, []string{"-root", root, "-to", kind + ":" + filepath.Join(parent, "images"),
			"-digests", filepath.Join(parent, "digests.json"), "-platforms", "linux/" + runtime.GOARCH, "-only", "agent,scheduler"},
			first, io.Discard)
		if code != 1 || first.written != 1 {
			t.Errorf("%s: exit code %d after %d images", kind, code, first.written)
		}
		nothingIn(t, parent)
	}
}

func nothingIn(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s was left", e.Name())
	}
}

// TestReplace: an older layout goes, anything else stays.
func TestReplace(t *testing.T) {
	root := newTree(t, nil)
	dir := filepath.Join(t.TempDir(), "images")
	args := []string{"-root", root, "-only", "agent", "-platforms", "linux/" + runtime.GOARCH, "-to", "layout:" + dir}
	for range 2 {
		if code, _, stderr := invoke(t, args...); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	images, err := read(layout.Path(dir))
	if err != nil || len(images) != 1 {
		t.Errorf("%d images, %v", len(images), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Errorf("left beside it: %v, %v", entries, err)
	}
	if err := os.Remove(filepath.Join(dir, "oci-layout")); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := invoke(t, args...)
	if code != 1 || !strings.Contains(stderr, "something else") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "index.json")); err != nil {
		t.Error(err)
	}
}

func TestUnwritable(t *testing.T) {
	root := newTree(t, nil)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"layout:" + file, "layout:" + file + "/images", "tar:" + file + "/images.tar", "tar:" + filepath.Dir(file), "layout:" + filepath.Join(root, "no", "such", "images")} {
		code, stdout, stderr := invoke(t, "-root", root, "-to", to)
		if code != 1 || stdout != "" || !strings.Contains(stderr, "images: to = ") {
			t.Errorf("%s: exit code %d, %s%s", to, code, stdout, stderr)
		}
	}
}

func TestUnwritableDigests(t *testing.T) {
	root := newTree(t, nil)
	parent := t.TempDir()
	for _, file := range []string{parent, filepath.Join(parent, "no", "digests.json")} {
		code, stdout, stderr := invoke(t, "-root", root, "-to", "layout:"+filepath.Join(parent, "images"), "-digests", file)
		if code != 1 || stdout != "" || !strings.Contains(stderr, "images: digests = "+file) {
			t.Errorf("%s: exit code %d, %s%s", file, code, stdout, stderr)
		}
	}
	nothingIn(t, parent)
}

// writes changes the tree when the first image is done.
type writes struct{ file string }

func (w writes) Write(p []byte) (int, error) {
	return len(p), os.WriteFile(w.file, nil, 0o644)
}

// TestChanged: what is built while the tree changes is thrown away.
func TestChanged(t *testing.T) {
	root := newTree(t, nil)
	parent := t.TempDir()
	var stderr bytes.Buffer
	code := command(t.Context(), []string{"-root", root, "-to", "tar:" + filepath.Join(parent, "images.tar"), "-platforms", "linux/" + runtime.GOARCH, "-only", "agent"},
		writes{filepath.Join(root, "cmd", "new.go")}, &stderr)
	if code != 1 || !strings.Contains(stderr.String(), "cmd/new.go") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	nothingIn(t, parent)
}

// TestTar: an archive holds what the layout holds.
func TestTar(t *testing.T) {
	root := newTree(t, nil)
	dir := t.TempDir()
	for _, to := range []string{"layout:" + filepath.Join(dir, "layout"), "tar:" + filepath.Join(dir, "images.tar")} {
		if code, _, stderr := invoke(t, "-root", root, "-only", "agent", "-platforms", "linux/"+runtime.GOARCH, "-to", to); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	unpacked := t.TempDir()
	if _, err := output(t.Context(), unpacked, nil, "tar", "-xf", filepath.Join(dir, "images.tar")); err != nil {
		t.Fatal(err)
	}
	if _, err := output(t.Context(), dir, nil, "diff", "-r", "layout", unpacked); err != nil {
		t.Error(err)
	}
}

func TestDigests(t *testing.T) {
	root := newTree(t, nil)
	file := filepath.Join(t.TempDir(), "digests.json")
	images := made(t, root, "-only", "agent,scheduler", "-platforms", "linux/"+runtime.GOARCH, "-digests", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got["spazio-agent"] != images[0].digest.String() || got["spazio-scheduler"] != images[1].digest.String() {
		t.Errorf("wrote %s for %v", text, images)
	}
}
