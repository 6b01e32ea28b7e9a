package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
)

// source is a work tree of a commit.
type source struct {
	root      string
	toolchain string    // what go.work pins
	revision  string    // the commit's hash
	created   time.Time // when it was committed
	stamped   bool      // the toolchain can tell the programs their commit
	doubts    []string  // why digests may not be the commit's
}

// open reads what the commit says. It fails where its images would not be those of
// everybody else: without a commit, or with another toolchain.
func open(ctx context.Context, root string) (*source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, invalid("root", root, err.Error())
	}
	s := &source{root: root}
	if s.toolchain, err = toolchain(root); err != nil {
		return nil, err
	}
	if got := runtime.Version(); got != s.toolchain {
		return nil, invalid("toolchain", got, "images are made with go.work's: run with GOTOOLCHAIN="+s.toolchain)
	}
	commit, err := output(ctx, root, nil, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, &FieldError{"root", root, fmt.Errorf("%w: no commit to build: %w", ErrInvalid, err)}
	}
	hash, seconds, _ := strings.Cut(strings.TrimSpace(commit), " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, invalid("root", root, "git tells no time of its commit: "+commit)
	}
	s.revision, s.created = hash, time.Unix(unix, 0).UTC()
	return s, s.doubt(ctx)
}

// doubt notes what makes other digests than a clean clone has.
func (s *source) doubt(ctx context.Context) error {
	changes, err := output(ctx, s.root, nil, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		s.doubts = append(s.doubts, "there are changes beyond "+s.revision+": the images are not that commit's")
	}
	// The toolchain stamps no program in a worktree, whose .git is a file.
	info, err := os.Stat(filepath.Join(s.root, ".git"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.stamped = err == nil && info.IsDir()
	if !s.stamped {
		s.doubts = append(s.doubts, s.root+" is no clone of its own: the programs will not know their version, and the digests are not a clone's")
	}
	return nil
}

// toolchain is the one that go.work pins.
func toolchain(root string) (string, error) {
	file := filepath.Join(root, "go.work")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", invalid("root", root, err.Error())
	}
	work, err := modfile.ParseWork(file, text, nil)
	if err != nil {
		return "", invalid("root", root, err.Error())
	}
	if work.Toolchain == nil {
		return "", invalid(file, "toolchain", "it pins none")
	}
	return work.Toolchain.Name, nil
}

// required is the version of a module that the programs require.
func (s *source) required(path string) (string, error) {
	file := filepath.Join(s.root, "cmd", "go.mod")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", invalid("root", s.root, err.Error())
	}
	mod, err := modfile.ParseLax(file, text, nil)
	if err != nil {
		return "", invalid("root", s.root, err.Error())
	}
	for _, r := range mod.Require {
		if r.Mod.Path == path {
			return r.Mod.Version, nil
		}
	}
	return "", invalid(file, path, "it is not required")
}

// fetching are the settings that say where modules come from and where they are
// kept: a user's own. What else is set says how to compile, and is not followed.
var fetching = []string{
	"GOPROXY", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOINSECURE", "GOVCS", "GOAUTH",
	"GOMODCACHE", "GOCACHE", "GOPATH",
}

// ignored are settings that would change what is compiled, or by what.
var ignored = []string{
	"GOOS", "GOARCH", "GOFLAGS", "GOEXPERIMENT", "GODEBUG", "GOFIPS140", "GO111MODULE", "GOROOT", "KOCACHE", "KO_GO_PATH",
}

// pin sets the environment of this process, which ko hands to the toolchain, so
// that the same commit is compiled the same everywhere: within its workspace, as
// if nothing else were set. Builds of several sources take processes of their own.
func (s *source) pin(ctx context.Context) error {
	text, err := output(ctx, s.root, nil, "go", append([]string{"env", "-json"}, fetching...)...)
	if err != nil {
		return err
	}
	settings := map[string]string{}
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	for _, name := range ignored {
		settings[name] = ""
	}
	settings["GOENV"] = "off"
	settings["GOWORK"] = filepath.Join(s.root, "go.work")
	settings["GOTOOLCHAIN"] = s.toolchain
	settings["GOAMD64"] = "v1"
	settings["GOARM64"] = "v8.0"
	settings["CGO_ENABLED"] = "0"
	for name, value := range settings {
		if value == "" {
			err = os.Unsetenv(name)
		} else {
			err = os.Setenv(name, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// output returns what a program prints, run in the directory with additions to
// the environment; its error has what it complained of.
func output(ctx context.Context, dir string, environ []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), environ...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return string(out), nil
}
