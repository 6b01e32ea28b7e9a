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

// failed matches the line on which go test reports a test that has failed.
var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// A suite is the tests of a package, as they run without a mutant.
type suite struct {
	dir     string
	took    time.Duration
	covered map[string]bool // lines that a test runs, as file.go:12
}

// survey runs the tests of a package without a mutant.
func survey(ctx context.Context, dir, scratch string) (*suite, error) {
	s := &suite{dir: dir, covered: map[string]bool{}}
	profile := filepath.Join(scratch, "cover.out")
	start := time.Now()
	output, err := s.run(ctx, time.Hour, "-coverprofile="+profile)
	if err != nil {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("%s: the tests fail without a mutant: %w\n%s", dir, err, output))
	}
	s.took = time.Since(start)
	files, err := cover.ParseProfiles(profile)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		for _, b := range f.Blocks {
			for line := b.StartLine; line <= b.EndLine && b.Count > 0; line++ {
				s.covered[fmt.Sprintf("%s:%d", filepath.Base(f.FileName), line)] = true
			}
		}
	}
	return s, nil
}

// run runs the tests of the suite, and kills them, with all that they started, when the time is over.
func (s *suite) run(ctx context.Context, limit time.Duration, flags ...string) (string, error) {
	// The shell bounds the memory; the go command then takes its place.
	args := []string{"-c", fmt.Sprintf("ulimit -v %d; exec \"$@\"", memory>>10), "sh",
		"go", "test", "-short", "-vet=off", "-count=1", "-timeout", limit.String()}
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
	v := verdict{mutant: m, compiles: true, covered: s.covered[fmt.Sprintf("%s:%d", filepath.Base(m.path), m.line)]}
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
	switch killer := failed.FindStringSubmatch(output); {
	case err == nil || ctx.Err() != nil:
	case strings.Contains(output, "[build failed]"):
		v.compiles = false
	case killer != nil:
		v.killer = killer[1]
	default:
		v.killer = "a panic or the time"
	}
	return v, nil
}
