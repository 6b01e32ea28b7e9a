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
	workspace string // the file that work was read from
	tags      string // of what is compiled
	work      *modfile.WorkFile
	toolchain string    // what go.work pins
	revision  string    // the commit's hash
	created   time.Time // when it was committed
	changes   string    // what is in the tree beyond it, as git says it
	stamped   bool      // the toolchain can tell the programs their commit
	doubts    []string  // why digests may not be the commit's
}

// open reads what the commit says, of a minor version of Kubernetes if it is not "". It
// fails where its images would not be those of everybody else: without a commit, or with
// another toolchain.
func open(ctx context.Context, root, kubernetes string) (*source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, invalid("root", root, err.Error())
	}
	s := &source{root: root}
	if s.workspace, s.tags, err = s.workspaceOf(kubernetes); err != nil {
		return nil, err
	}
	if s.work, s.toolchain, err = workspace(s.workspace); err != nil {
		return nil, err
	}
	if got := runtime.Version(); got != s.toolchain {
		return nil, invalid("toolchain", got, "images are made with go.work's: run with GOTOOLCHAIN="+s.toolchain)
	}
	commit, err := output(ctx, root, nil, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, refused("root", root, fmt.Errorf("%w: no commit to build: %w", ErrInvalid, err))
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
	var err error
	if s.changes, err = s.status(ctx); err != nil {
		return err
	}
	if s.changes != "" {
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

func (s *source) status(ctx context.Context) (string, error) {
	return output(ctx, s.root, nil, "git", "status", "--porcelain")
}

// unchanged fails if the tree was written to since it was opened, and the images may
// be of two.
func (s *source) unchanged(ctx context.Context) error {
	changes, err := s.status(ctx)
	if err != nil || changes == s.changes {
		return err
	}
	return invalid("root", s.root, "changed while images were built:\n"+changes)
}

// workspace reads a go.work, and the toolchain that it pins.
func workspace(file string) (*modfile.WorkFile, string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, "", invalid("root", filepath.Dir(file), err.Error())
	}
	work, err := modfile.ParseWork(file, text, nil)
	if err != nil {
		return nil, "", invalid("root", filepath.Dir(file), err.Error())
	}
	if work.Go == nil || work.Toolchain == nil {
		return nil, "", invalid(file, "toolchain", "it pins none")
	}
	return work, work.Toolchain.Name, nil
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

// copyWorkspace makes a go.work of the same modules in another directory. The
// toolchain adds to go.work.sum what it misses there: beside the original that would
// be a change of the tree, and the programs would call themselves dirty.
func (s *source) copyWorkspace(dir string) (string, error) {
	work := &modfile.WorkFile{Syntax: &modfile.FileSyntax{}}
	if err := work.AddGoStmt(s.work.Go.Version); err != nil {
		return "", err
	}
	for _, use := range s.work.Use {
		path := use.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(s.workspace), path)
		}
		if err := work.AddUse(path, ""); err != nil {
			return "", err
		}
	}
	if err := s.copyReplaced(work); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "go.work")
	if err := os.WriteFile(file, modfile.Format(work.Syntax), 0o644); err != nil {
		return "", err
	}
	sums, err := os.ReadFile(s.workspace + ".sum")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return file, os.WriteFile(file+".sum", sums, 0o644)
}

// pin sets the environment of this process, which ko hands to the toolchain, so
// that the same commit is compiled the same everywhere: within its workspace, as
// if nothing else were set. Builds of several sources take processes of their own.
// The directory is for a copy of the workspace.
func (s *source) pin(ctx context.Context, dir string) error {
	work, err := s.copyWorkspace(dir)
	if err != nil {
		return err
	}
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
	if s.tags != "" {
		settings["GOFLAGS"] = "-tags=" + s.tags
	}
	settings["GOENV"] = "off"
	settings["GOWORK"] = work
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
