package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/tools/cover"
)

const (
	// grace is how long a killed run may take to close its output.
	grace = 5 * time.Second
	// memory bounds what a mutant that allocates without end can take.
	memory = 12 << 30
)

// slack is how much longer than ten times its time a run may take: the machine may be busy.
var slack = 5 * time.Second

// A suite is the tests of a package, as they run without a mutant.
type suite struct {
	dir     string
	skip    string // a pattern of the tests that are left out
	took    time.Duration
	covered []cover.ProfileBlock // with a count of 0, too
	file    []string             // of each block, its base name
}

// ended matches the line on which go test reports a test that has ended.
var ended = regexp.MustCompile(`(?m)^--- (PASS|FAIL): (\S+) \((\S+)\)`)

// survey runs the tests of a package without a mutant, and leaves out those that fail or take too long.
func survey(ctx context.Context, dir string, slow time.Duration, scratch string, progress io.Writer) (*suite, error) {
	s := &suite{dir: dir}
	profile := filepath.Join(scratch, "cover.out")
	var left []string
	for again := true; again; {
		if err := os.RemoveAll(profile); err != nil {
			return nil, err
		}
		start := time.Now()
		output, err := s.run(ctx, 10*slow+time.Hour, "-v", "-coverprofile="+profile)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.took, again = time.Since(start), false
		for _, m := range ended.FindAllStringSubmatch(output, -1) {
			if took, _ := time.ParseDuration(m[3]); m[1] == "FAIL" || took > slow {
				fmt.Fprintf(progress, "left out, fails without a mutant or takes too long: %s, %s: %s in %s\n", dir, m[2], m[1], m[3])
				left, again = append(left, regexp.QuoteMeta(m[2])), true
			}
		}
		if err != nil && !again {
			return nil, fmt.Errorf("%s: the tests fail without a mutant: %w\n%s", dir, err, output)
		}
		s.skip = "^(" + strings.Join(left, "|") + ")$"
	}
	files, err := cover.ParseProfiles(profile)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // there is none of a package without statements
		return nil, err
	}
	for _, f := range files {
		for _, b := range f.Blocks {
			s.covered, s.file = append(s.covered, b), append(s.file, filepath.Base(f.FileName))
		}
	}
	return s, nil
}

// covers reports whether a test runs the mutant's line.
func (s *suite) covers(m *mutant) bool {
	for i, b := range s.covered {
		if b.Count > 0 && s.file[i] == filepath.Base(m.path) && b.StartLine <= m.line && m.line <= b.EndLine {
			return true
		}
	}
	return false
}

// run runs the tests of the suite, and kills them, with all that they started, when the time is over.
func (s *suite) run(ctx context.Context, limit time.Duration, flags ...string) (string, error) {
	// The shell bounds the memory; the go command then takes its place.
	args := []string{"-c", fmt.Sprintf("ulimit -v %d; exec \"$@\"", memory>>10), "sh", "go", "test", "-vet=off", "-count=1", "-timeout", limit.String()}
	if s.skip != "" {
		args = append(args, "-skip", s.skip)
	}
	cmd := exec.CommandContext(ctx, "sh", append(append(args, flags...), ".")...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = grace
	output, err := cmd.CombinedOutput()
	return string(bytes.TrimSpace(output)), err
}

// A verdict is what became of a mutant.
type verdict struct {
	*mutant
	killer            string // the test that failed; empty where none did
	covered, compiles bool
}

// judgeAll tries the mutants, several at once, and keeps the order of those that compile.
func judgeAll(ctx context.Context, mutants []*mutant, suites map[string]*suite, scratch string, progress io.Writer) ([]verdict, error) {
	all := make([]verdict, len(mutants))
	var workers errgroup.Group
	workers.SetLimit(runtime.NumCPU())
	for i, m := range mutants {
		fmt.Fprintf(progress, "\rmutants: %d of %d ", i+1, len(mutants))
		workers.Go(func() (err error) {
			all[i], err = judge(ctx, m, suites[m.dir], filepath.Join(scratch, fmt.Sprint(i)))
			return errors.Join(err, ctx.Err())
		})
	}
	err := workers.Wait()
	fmt.Fprintln(progress)
	var verdicts []verdict
	for _, v := range all {
		if v.compiles {
			verdicts = append(verdicts, v)
		}
	}
	return verdicts, err
}

// judge runs the tests of the mutant's package with the mutant in the place of the original.
func judge(ctx context.Context, m *mutant, s *suite, scratch string) (verdict, error) {
	v := verdict{mutant: m, compiles: true, covered: s != nil && s.covers(m)}
	if !v.covered {
		return v, ctx.Err()
	}
	text, err := os.ReadFile(m.path)
	if err != nil {
		return v, err
	}
	changed := string(text[:m.from]) + m.text + string(text[m.to:])
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{m.path: scratch + ".go"}})
	err = errors.Join(err, os.WriteFile(scratch+".go", []byte(changed), 0o600), os.WriteFile(scratch+".json", overlay, 0o600))
	if err != nil {
		return v, err
	}
	output, err := s.run(ctx, 10*s.took+slack, "-failfast", "-overlay", scratch+".json")
	switch failed := ended.FindStringSubmatch(output); {
	case err == nil || ctx.Err() != nil:
	case strings.Contains(output, "[build failed]"):
		v.compiles = false
	case failed != nil:
		v.killer = failed[2]
	default:
		v.killer = "a panic or the time"
	}
	return v, nil
}
