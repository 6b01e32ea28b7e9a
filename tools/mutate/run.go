package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// grace is how long a killed run may take to close its output.
	grace = 5 * time.Second
	// memory bounds what a mutant that allocates without end can take.
	memory = 12 << 30
)

// slack is how much longer than ten times its time a run may take: the machine may be busy.
var slack = 5 * time.Second

// A test is one top-level test, example or fuzz target (its seeds).
type test struct {
	suite suite
	name  string
	took  time.Duration
	calls map[string]bool // functions by id
}

// named is a test's name with the suite's folder before it.
func (s suite) named(test string) string { return strings.TrimPrefix(s.label+"."+test, "..") }

// survey runs every test of the suites alone, without a mutant.
func survey(ctx context.Context, suites []suite, slow time.Duration, scratch string, progress io.Writer) ([]test, error) {
	var tests []test
	record := filepath.Join(scratch, "record")
	for _, s := range suites {
		list := exec.CommandContext(ctx, s.binary, "-test.list", ".")
		list.Dir = s.dir
		names, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: listing tests: %w", s.label, err)
		}
		for _, name := range strings.Fields(string(names)) {
			if strings.HasPrefix(name, "Benchmark") {
				continue
			}
			if err := os.RemoveAll(record); err != nil {
				return nil, err
			}
			start := time.Now()
			err := s.run(ctx, name, 10*slow+slack, "MUTATE_RECORD="+record)
			took := time.Since(start)
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				fmt.Fprintf(progress, "left out, fails without a mutant: %s: %v\n", s.named(name), err)
			case took > slow:
				fmt.Fprintf(progress, "left out, takes %.1f s: %s\n", took.Seconds(), s.named(name))
			default:
				t := test{suite: s, name: name, took: took, calls: map[string]bool{}}
				called, _ := os.ReadFile(record) // there is none if it calls no function
				for id := range strings.FieldsSeq(string(called)) {
					t.calls[id] = true
				}
				tests = append(tests, t)
			}
		}
	}
	slices.SortStableFunc(tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
	return tests, nil
}

// run runs a test of the suite and kills it, with all that it started, when the time is over.
func (s suite) run(ctx context.Context, name string, limit time.Duration, env string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// The shell bounds the memory; the test then takes its place.
	script := fmt.Sprintf("ulimit -v %d; exec \"$@\"", memory>>10)
	cmd := exec.CommandContext(ctx, "sh", "-c", script, "sh", s.binary, "-test.run", "^"+name+"$", "-test.failfast", "-test.timeout", "0")
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = grace
	return cmd.Run()
}

// A verdict is what became of a mutant.
type verdict struct {
	*mutant
	killer string // the test that failed; empty where none did
	ran    int    // tests that call the function
}

// judgeAll tries the mutants, several at once, and keeps their order.
func judgeAll(ctx context.Context, mutants []*mutant, tests []test, progress io.Writer) ([]verdict, error) {
	verdicts := make([]verdict, len(mutants))
	var workers errgroup.Group
	workers.SetLimit(runtime.NumCPU())
	for i, m := range mutants {
		fmt.Fprintf(progress, "\rmutants: %d of %d ", i+1, len(mutants))
		workers.Go(func() error {
			verdicts[i] = judge(ctx, m, tests)
			return ctx.Err()
		})
	}
	err := workers.Wait()
	fmt.Fprintln(progress)
	return verdicts, err
}

// judge runs the tests that call the mutant's function, the quickest first, until one fails.
func judge(ctx context.Context, m *mutant, tests []test) verdict {
	v := verdict{mutant: m}
	id := fmt.Sprint(m.fn.id)
	relevant := slices.DeleteFunc(slices.Clone(tests), func(t test) bool { return !t.calls[id] })
	v.ran = len(relevant)
	for _, t := range relevant {
		err := t.suite.run(ctx, t.name, 10*t.took+slack, fmt.Sprintf("MUTATE_ACTIVE=%d", m.id))
		if ctx.Err() != nil {
			return v
		}
		if err != nil {
			v.killer = t.suite.named(t.name)
			return v
		}
	}
	return v
}
