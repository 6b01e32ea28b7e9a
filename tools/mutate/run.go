package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A test is one top-level test, example or fuzz target (its seeds).
type test struct {
	suite suite
	name  string
	took  time.Duration
	calls map[int]bool // functions by id
}

// named is a test's name with the suite's folder before it.
func (s suite) named(test string) string {
	if s.label == "." {
		return test
	}
	return s.label + "." + test
}

// grace is how long a killed run may take to let go of its output.
const grace = 5 * time.Second

// memory bounds what a mutant that allocates without end can take.
const memory = 12 << 30

// survey runs every test of the suites alone, without a mutant.
func survey(ctx context.Context, suites []suite, o options, scratch string, say func(string, ...any)) ([]test, error) {
	var tests []test
	for _, s := range suites {
		names, err := s.list(ctx)
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			record := filepath.Join(scratch, "record")
			if err := os.RemoveAll(record); err != nil {
				return nil, err
			}
			start := time.Now()
			outcome, output := s.run(ctx, []string{name}, 10*o.slow+o.slack, "MUTATE_RECORD="+record)
			took := time.Since(start)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			switch {
			case outcome != passed:
				say("left out, fails without a mutant: %s (%s)", s.named(name), firstLine(output))
			case took > o.slow:
				say("left out, takes %.1f s: %s", took.Seconds(), s.named(name))
			default:
				calls, err := called(record)
				if err != nil {
					return nil, err
				}
				tests = append(tests, test{suite: s, name: name, took: took, calls: calls})
			}
			say("\rtests of %s: %d of %d ", s.label, i+1, len(names))
		}
	}
	slices.SortStableFunc(tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
	return tests, nil
}

// firstLine is the first line of a test's output that says why it failed.
func firstLine(output string) string {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "===") {
			return line
		}
	}
	return "no output"
}

// list names the suite's tests, examples and fuzz targets.
func (s suite) list(ctx context.Context) ([]string, error) {
	cmd := exec.CommandContext(ctx, s.binary, "-test.list", ".")
	cmd.Dir = s.dir
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: listing tests: %w", s.label, err)
	}
	var names []string
	for _, name := range strings.Fields(string(output)) {
		if !strings.HasPrefix(name, "Benchmark") {
			names = append(names, name)
		}
	}
	return names, nil
}

type outcome int

const (
	passed outcome = iota
	failed
	ranAway
)

// run runs tests of the suite and kills them, with all they started, when the
// time is over.
func (s suite) run(ctx context.Context, names []string, limit time.Duration, env ...string) (outcome, string) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	pattern := "^(" + strings.Join(quoted, "|") + ")$"
	// The shell bounds the memory; the test then takes its place.
	script := fmt.Sprintf("ulimit -v %d; exec \"$@\"", memory>>10)
	cmd := exec.CommandContext(ctx, "sh", "-c", script, "sh", s.binary, "-test.run", pattern, "-test.failfast", "-test.timeout", "0")
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), env...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = grace
	err := cmd.Run()
	switch {
	case err == nil:
		return passed, output.String()
	case ctx.Err() != nil:
		return ranAway, output.String()
	}
	return failed, output.String()
}

// called reads which functions a test called.
func called(record string) (map[int]bool, error) {
	data, err := os.ReadFile(record)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	calls := map[int]bool{}
	for _, field := range strings.Fields(string(data)) {
		id, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("record of calls: %w", err)
		}
		calls[id] = true
	}
	return calls, nil
}

// A verdict is what became of a mutant.
type verdict struct {
	*mutant
	killer string // the test that failed; empty where none did
	ran    int    // tests that call the function
	away   bool   // killed by running away
}

// judge runs the tests that call the mutant's function, the quick ones
// together and first, until one fails.
func judge(ctx context.Context, m *mutant, tests []test, slack time.Duration) verdict {
	v := verdict{mutant: m}
	var relevant []test
	for _, t := range tests {
		if t.calls[m.fn.id] {
			relevant = append(relevant, t)
		}
	}
	v.ran = len(relevant)
	for _, group := range batches(relevant) {
		var took time.Duration
		names := make([]string, len(group))
		for i, t := range group {
			took += t.took
			names[i] = t.name
		}
		outcome, output := group[0].suite.run(ctx, names, 10*took+slack, fmt.Sprintf("MUTATE_ACTIVE=%d", m.id))
		if ctx.Err() != nil {
			return v
		}
		if outcome != passed {
			v.killer = group[0].suite.named(failedTest(output, names))
			v.away = outcome == ranAway
			return v
		}
	}
	return v
}

// batches groups tests of one suite, in the given order, into runs of about a
// second: starting a process takes as long as many a test.
func batches(tests []test) [][]test {
	var out [][]test
	open := map[string]int{} // by suite: the batch that takes more
	total := map[int]time.Duration{}
	for _, t := range tests {
		i, ok := open[t.suite.binary]
		if !ok || total[i]+t.took > time.Second {
			i = len(out)
			out = append(out, nil)
			open[t.suite.binary] = i
		}
		out[i] = append(out[i], t)
		total[i] += t.took
	}
	return out
}

var failLine = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// failedTest names the test that failed; a crash names none, so the run's first
// stands for it.
func failedTest(output string, names []string) string {
	if match := failLine.FindStringSubmatch(output); match != nil {
		return match[1]
	}
	return names[0]
}
