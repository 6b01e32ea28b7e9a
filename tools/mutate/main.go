package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/tools/go/packages"
)

// options are the flags.
type options struct {
	sample      int
	seed        uint64
	minimum     float64
	slow, slack time.Duration
	workers     int
	verbose     bool
	constants   bool
}

// errTooFew is a run in which the tests noticed less than they should.
var errTooFew = errors.New("too few mutants were killed")

func main() {
	var o options
	flag.IntVar(&o.sample, "sample", 0, "mutants to choose at random; 0 takes all")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the choice")
	flag.Float64Var(&o.minimum, "min", 0, "fail if less than this many percent are killed")
	flag.DurationVar(&o.slow, "slow", 10*time.Second, "leave out tests that take longer than this")
	flag.DurationVar(&o.slack, "slack", 5*time.Second, "how much longer than ten times its time a run may take: the machine may be busy")
	flag.IntVar(&o.workers, "workers", runtime.NumCPU(), "mutants to try at once")
	flag.BoolVar(&o.constants, "constants", false, "double constants, too: many such mutants only move a tolerance")
	flag.BoolVar(&o.verbose, "v", false, "also print the mutants that were killed, and by which test")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: mutate [flags] DIR...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 || o.sample < 0 || o.workers < 1 || o.slow <= 0 || o.slack < 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code := 0
	for _, dir := range flag.Args() {
		if err := mutate(ctx, dir, o, os.Stdout, os.Stderr); errors.Is(err, errTooFew) {
			fmt.Fprintln(os.Stderr, "mutate:", err)
			code = max(code, 1)
		} else if err != nil {
			fmt.Fprintln(os.Stderr, "mutate:", err)
			code = 2
		}
	}
	stop()
	os.Exit(code)
}

// mutate tries the mutants below one folder and prints what it found.
func mutate(ctx context.Context, dir string, o options, out, progress io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	say := func(format string, args ...any) {
		if len(format) == 0 || format[0] != '\r' {
			format += "\n"
		}
		fmt.Fprintf(progress, format, args...)
	}
	pkgs, all, err := load(dir, o.constants)
	if err != nil {
		return err
	}
	chosen := choose(all, o.sample, o.seed)
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	say("%s: %d of %d mutants", filepath.Base(dir), len(chosen), len(all))

	b := builder{dir: dir, scratch: scratch, pkgs: pkgs, files: filesOf(chosen)}
	suites, dropped, err := b.build(ctx)
	if err != nil {
		return err
	}
	for _, m := range dropped {
		say("left out, does not compile: %v", m)
	}
	chosen = slices.DeleteFunc(chosen, func(m *mutant) bool { return slices.Contains(dropped, m) })
	tests, err := survey(ctx, suites, o, scratch, say)
	if err != nil {
		return err
	}
	verdicts, err := judgeAll(ctx, chosen, tests, o, say)
	if err != nil {
		return err
	}
	lists, err := listsOf(pkgs)
	if err != nil {
		return err
	}
	r := report{dir: filepath.Base(dir), total: len(all), verdicts: verdicts, lists: lists, whole: len(chosen)+len(dropped) == len(all)}
	r.print(out, o.verbose)
	if share := r.share(); share < o.minimum {
		return fmt.Errorf("%w: %.1f %% of %s, want %g %%", errTooFew, share, r.dir, o.minimum)
	}
	return nil
}

// choose numbers the mutants and draws a sample of them; 0 takes all. They stay
// in the order of the source.
func choose(all []*mutant, sample int, seed uint64) []*mutant {
	chosen := slices.Clone(all)
	if sample > 0 && sample < len(all) {
		random := rand.New(rand.NewPCG(seed, 0))
		order := random.Perm(len(all))[:sample]
		slices.Sort(order)
		chosen = chosen[:0]
		for _, i := range order {
			chosen = append(chosen, all[i])
		}
	}
	functions := 0
	for i, m := range chosen {
		m.id = i + 1
		if m.fn.id == 0 {
			functions++
			m.fn.id = functions
		}
		m.fn.chosen = append(m.fn.chosen, m)
	}
	return chosen
}

func filesOf(mutants []*mutant) []*source {
	var files []*source
	for _, m := range mutants {
		if !slices.Contains(files, m.file) {
			files = append(files, m.file)
		}
	}
	return files
}

func listsOf(pkgs []*packages.Package) ([]*entry, error) {
	var all []*entry
	for _, pkg := range pkgs {
		entries, err := readList(filepath.Dir(pkg.GoFiles[0]))
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, nil
}

// judgeAll tries the mutants, several at once, and keeps their order.
func judgeAll(ctx context.Context, mutants []*mutant, tests []test, o options, say func(string, ...any)) ([]verdict, error) {
	verdicts := make([]verdict, len(mutants))
	next := make(chan int)
	var done, survived int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range o.workers {
		wg.Go(func() {
			for i := range next {
				v := judge(ctx, mutants[i], tests, o.slack)
				verdicts[i] = v
				mu.Lock()
				done++
				if v.killer == "" {
					survived++
				}
				say("\rmutants: %d of %d, %d survive ", done, len(mutants), survived)
				mu.Unlock()
			}
		})
	}
	for i := range mutants {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	say("")
	return verdicts, ctx.Err()
}
