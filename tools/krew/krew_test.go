package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// pretend builds a file that says what it is for.
func pretend(_ string, p platform, file string) error {
	return os.WriteFile(file, []byte(p.OS+"/"+p.Arch), 0o755)
}

var entry = regexp.MustCompile(`os: (\w+)\n +arch: (\w+)\n +uri: (\S+)\n +sha256: ([0-9a-f]{64})\n +bin: (\S+)\n`)

// The manifest's sums are those of the files that it names, which hold the program
// of that platform, and are the same when they are made again.
func TestManifest(t *testing.T) {
	var before string
	for range 2 {
		o := options{"../..", "v1.2.3", "https://downloads.example/x/", filepath.Join(t.TempDir(), "out"), pretend}
		if err := o.run(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(o.out, "spazio.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if before != "" && before != string(text) {
			t.Errorf("made again it is\n%s\nand was\n%s", text, before)
		}
		before = string(text)
		entries := entry.FindAllStringSubmatch(before, -1)
		if len(entries) != 4 || !strings.Contains(before, "\n  version: v1.2.3\n") {
			t.Fatalf("%d platforms:\n%s", len(entries), before)
		}
		for _, e := range entries {
			name, ok := strings.CutPrefix(e[3], "https://downloads.example/x/")
			archive, err := os.ReadFile(filepath.Join(o.out, name))
			if !ok || err != nil {
				t.Fatalf("%s: %v", e[3], err)
			}
			if sum := sha256.Sum256(archive); hex.EncodeToString(sum[:]) != e[4] {
				t.Errorf("%s: the sum is %x, not %s", name, sum, e[4])
			}
			files := unpack(t, archive)
			if want := e[1] + "/" + e[2]; e[5] != program || files[program] != want || !strings.Contains(files["LICENSE"], "Apache") {
				t.Errorf("%s holds %q, want %q", name, files[program], want)
			}
		}
	}
}

func unpack(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for reader := tar.NewReader(zipped); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]int64{program: 0o755, "LICENSE": 0o644}[header.Name]; header.Mode != want {
			t.Errorf("%s has mode %o", header.Name, header.Mode)
		}
		files[header.Name] = string(text)
	}
}

func TestRefuses(t *testing.T) {
	there := t.TempDir()
	for _, o := range []options{
		{"../..", "1.2.3", "https://x.example", "out", pretend}, {"../..", "v1.2", "https://x.example", "out", pretend},
		{"../..", "v1.2.3", "http://x.example", "out", pretend}, {"../..", "v1.2.3", "", "out", pretend}, {"../..", "v1.2.3", "https://x.example", "", pretend},
	} {
		if err := o.run(); !errors.Is(err, errInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	o := options{"../..", "v1.2.3", "https://x.example", there, pretend}
	if err := o.run(); !errors.Is(err, os.ErrExist) {
		t.Errorf("into a directory that is there: %v", err)
	}
	boom := errors.New("boom")
	o = options{"../..", "v1.2.3", "https://x.example", filepath.Join(there, "new"), func(string, platform, string) error { return boom }}
	if err := o.run(); !errors.Is(err, boom) || !strings.Contains(err.Error(), "linux/amd64") {
		t.Errorf("%v", err)
	}
}

// The program is there to be built. Building is tried on one that takes no time to:
// what kubectl-spazio is made of is compiled elsewhere, with other flags.
func TestCompile(t *testing.T) {
	if _, err := os.Stat("../../cmd/" + program + "/main.go"); err != nil {
		t.Error(err)
	}
	root := t.TempDir()
	dir := filepath.Join(root, "cmd", program)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		filepath.Join(root, "go.work"):       "go 1.26.0\n\nuse ./cmd\n",
		filepath.Join(root, "cmd", "go.mod"): "module example.org/cmd\n\ngo 1.26.0\n",
		filepath.Join(dir, "main.go"):        "package main\n\nimport \"runtime\"\n\nfunc main() { println(runtime.GOOS) }\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), program)
	if err := compile(root, platform{runtime.GOOS, runtime.GOARCH}, file); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(file).CombinedOutput()
	if err != nil || string(said) != runtime.GOOS+"\n" {
		t.Errorf("%q, %v", said, err)
	}
}
