package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/spazio-scheduler/spazio/tools/internal/checkout"
)

// invoke runs the command line and returns what it printed.
func invoke(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, complaints bytes.Buffer
	code = command(t.Context(), args, &out, &complaints)
	return code, out.String(), complaints.String()
}

// made runs the command line and returns the images of the layout that it wrote.
func made(t *testing.T, root string, args ...string) []image {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "images")
	if code, _, stderr := invoke(t, append([]string{"-root", root, "-to", "layout:" + dir}, args...)...); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	return read(t, dir)
}

// must returns a value or panics.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// image is an image of a layout.
type image struct {
	name   string
	digest v1.Hash
	parts  []part
}

// part is the image of one platform, with its bill of materials.
type part struct {
	v1.Image
	platform string
	bill     []byte
}

// read returns the images of a layout as a client finds them.
func read(t *testing.T, dir string) (images []image) {
	t.Helper()
	root := must(layout.Path(dir).ImageIndex())
	bills := map[v1.Hash][]byte{}
	manifest := must(root.IndexManifest())
	for _, d := range manifest.Manifests {
		if d.Annotations[containerdName] == "" {
			bill := must(root.Image(d.Digest))
			subject := must(bill.Manifest()).Subject
			text := must(must(bill.Layers())[0].Uncompressed())
			bills[subject.Digest] = must(io.ReadAll(text))
		}
	}
	for _, d := range manifest.Manifests {
		named := d.Annotations[containerdName]
		if named == "" {
			continue
		}
		index, descriptors := root, []v1.Descriptor{d}
		if d.MediaType.IsIndex() {
			index = must(root.ImageIndex(d.Digest))
			descriptors = must(index.IndexManifest()).Manifests
		}
		i := image{digest: d.Digest}
		i.name, _, _ = strings.Cut(path.Base(named), ":")
		for _, d := range descriptors {
			found := must(index.Image(d.Digest))
			config := must(found.ConfigFile())
			i.parts = append(i.parts, part{found, config.OS + "/" + config.Architecture, bills[d.Digest]})
		}
		images = append(images, i)
	}
	return images
}

func TestImage(t *testing.T) {
	root := newTree(t, nil)
	images := made(t, root, "-only", "agent")
	if len(images) != 1 || images[0].name != "spazio-agent" || len(images[0].parts) != 2 {
		t.Fatalf("got %+v, want spazio-agent for two platforms", images)
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
			t.Errorf("%s: got creation time %d, want the commit's %d", want, got, seconds)
		}
		files, err := filesOf(p)
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
			t.Errorf("%s: got licence %q", want, got)
		}
		if want == runtime.GOOS+"/"+runtime.GOARCH {
			if got := start(t, files["ko-app/spazio-agent"]); got != "from the sibling" {
				t.Errorf("got output %q", got)
			}
		}
	}
}

// start runs a program taken from an image.
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

// TestAgent: this repository's agent is small enough for every node, and runs.
func TestAgent(t *testing.T) {
	restoreEnvironment(t)
	arch := runtime.GOARCH
	if arch != "arm64" {
		arch = "amd64"
	}
	images := made(t, "../..", "-only", "agent", "-platforms", "linux/"+arch)
	files, err := filesOf(images[0].parts[0])
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, content := range files {
		size += len(content)
	}
	if size > 25e6 {
		t.Errorf("got files of %d bytes", size)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != arch {
		return
	}
	if got := start(t, files["ko-app/spazio-agent"], "--help"); !strings.Contains(got, "--listen") {
		t.Errorf("--help: got %s", got)
	}
}

// TestScheduler reports its Kubernetes version, and is built for this machine's platform only.
func TestScheduler(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return // this machine does not run the platform
	}
	images := made(t, newTree(t, nil), "-only", "scheduler")
	if len(images[0].parts) != 1 {
		t.Fatalf("got %d platforms", len(images[0].parts))
	}
	files, err := filesOf(images[0].parts[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := start(t, files["ko-app/spazio-scheduler"]); got != "v1.37.2 of 37" {
		t.Errorf("got version %q", got)
	}
}

// TestEnvironment: neither environment variables nor an empty build cache affect the build.
func TestEnvironment(t *testing.T) {
	root := newTree(t, nil)
	args := []string{"-only", "agent", "-platforms", "linux/" + runtime.GOARCH}
	plain := made(t, root, args...)
	for name, value := range map[string]string{
		"GOOS": "darwin", "GOARCH": "386", "GOFLAGS": "-tags=strange -mod=mod", "GOAMD64": "v3", "GOARM64": "v9.0",
		"GOEXPERIMENT": "greenteagc", "GOWORK": "off", "GOCACHE": t.TempDir(), "CGO_ENABLED": "1", "KO_GO_PATH": "/nowhere",
	} {
		t.Setenv(name, value)
	}
	if changed := made(t, root, args...); changed[0].digest != plain[0].digest {
		t.Errorf("got %s, without the settings %s", changed[0].digest, plain[0].digest)
	}
}

// TestIncompleteSums: the toolchain's additions to go.work.sum change neither the tree nor the
// programs' build information.
func TestIncompleteSums(t *testing.T) {
	for name, over := range map[string]map[string]string{
		"no file": {"cmd/go.sum": ""}, "an empty one": {"cmd/go.sum": "", "go.work.sum": ""},
	} {
		root := newTree(t, over)
		images := made(t, root, "-only", "agent", "-platforms", "linux/"+runtime.GOARCH)
		if changes := git(t, root, "status", "--porcelain"); changes != "" {
			t.Errorf("%s: changed %s", name, changes)
		}
		if version := builtFrom(t, images[0]).Main.Version; strings.Contains(version, "dirty") {
			t.Errorf("%s: got version %s", name, version)
		}
	}
}

// builtFrom returns the build information of an image's program.
func builtFrom(t *testing.T, i image) *buildinfo.BuildInfo {
	t.Helper()
	return must(buildinfo.Read(bytes.NewReader(must(filesOf(i.parts[0]))["ko-app/"+i.name])))
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

// stopAfterFirst cancels after the first image.
type stopAfterFirst struct {
	stop    context.CancelFunc
	written int
}

func (s *stopAfterFirst) Write(p []byte) (int, error) {
	s.stop()
	s.written++
	return len(p), nil
}

// TestInterrupted: a build that is stopped after its first image leaves nothing.
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
		t.Errorf("got remaining file %s", e.Name())
	}
}

// TestReplace: an older layout is replaced, anything else stays.
func TestReplace(t *testing.T) {
	root := newTree(t, nil)
	dir := filepath.Join(t.TempDir(), "images")
	args := []string{"-root", root, "-only", "agent", "-platforms", "linux/" + runtime.GOARCH, "-to", "layout:" + dir}
	for range 2 {
		if code, _, stderr := invoke(t, args...); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	if images := read(t, dir); len(images) != 1 {
		t.Errorf("%d images", len(images))
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Errorf("got remaining files %v, %v", entries, err)
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

// TestUncommitted: uncommitted changes are built, new and removed files included, with a warning, and
// neither the tree nor its index changes.
func TestUncommitted(t *testing.T) {
	root := newTree(t, map[string]string{"lib/old.go": "package lib\n\nfunc init() { panic(Word) }\n"})
	if err := os.Remove(filepath.Join(root, "lib", "old.go")); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, root, map[string]string{
		"lib/lib.go": "package lib\n\nconst Word = \"another \" + word\n", "lib/new.go": "package lib\n\nconst word = \"word\"\n",
	})
	before := git(t, root, "status", "--porcelain")
	dir := filepath.Join(t.TempDir(), "images")
	code, _, stderr := invoke(t, "-root", root, "-to", "layout:"+dir, "-only", "agent", "-platforms", "linux/"+runtime.GOARCH)
	if code != 0 || !strings.Contains(stderr, "there are changes beyond") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if after := git(t, root, "status", "--porcelain"); after != before {
		t.Errorf("the tree's changes were\n%s\nand are now\n%s", before, after)
	}
	images := read(t, dir)
	if version := builtFrom(t, images[0]).Main.Version; !strings.HasSuffix(version, "+dirty") {
		t.Errorf("got version %s", version)
	}
	if runtime.GOOS == "linux" {
		if got := start(t, must(filesOf(images[0].parts[0]))["ko-app/spazio-agent"]); got != "another word" {
			t.Errorf("got output %q", got)
		}
	}
}

// A worktree is built as a clone is.
func TestWorktree(t *testing.T) {
	root := newTree(t, nil)
	worktree := filepath.Join(t.TempDir(), "worktree")
	git(t, root, "worktree", "add", "--quiet", "--detach", worktree)
	args := []string{"-only", "agent", "-platforms", "linux/" + runtime.GOARCH}
	if plain, other := made(t, root, args...), made(t, worktree, args...); plain[0].digest != other[0].digest {
		t.Errorf("got %s, in a worktree %s", plain[0].digest, other[0].digest)
	}
}

// TestTar: an archive has the same contents as the layout.
func TestTar(t *testing.T) {
	root := newTree(t, nil)
	dir := t.TempDir()
	for _, to := range []string{"layout:" + filepath.Join(dir, "layout"), "tar:" + filepath.Join(dir, "images.tar")} {
		if code, _, stderr := invoke(t, "-root", root, "-only", "agent", "-platforms", "linux/"+runtime.GOARCH, "-to", to); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	unpacked := t.TempDir()
	if _, err := checkout.Output(t.Context(), unpacked, nil, "tar", "-xf", filepath.Join(dir, "images.tar")); err != nil {
		t.Fatal(err)
	}
	if _, err := checkout.Output(t.Context(), dir, nil, "diff", "-r", "layout", unpacked); err != nil {
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
