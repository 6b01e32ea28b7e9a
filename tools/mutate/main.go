// Command mutate asks a module's tests whether they notice faults: it puts one
// small fault (a mutant) at a time into the module's code and runs the tests
// that reach it. A mutant that no test fails for has survived.
//
//	mutate [-sample 200 -seed 1] DIR...
//
// Each DIR is a folder of the workspace; its packages and all below it are
// mutated, and the tests of each are run. .ci/mutate builds and runs it.
//
// # Mutants
//
//	arithmetic   + and -, * and /, % to *, also in assignments (+= to -=)
//	bitwise      & and |, also in assignments
//	boundary     < and <=, > and >=
//	negation     == and !=, < and >=, > and <=
//	logic        && and ||
//	step         ++ and --
//	sign         -x to x, !x to x
//	removal      an assignment, a call, an increment that stands alone is left out
//
// Constant expressions, generated files and files of other platforms are left alone.
//
// # How
//
// The tests of each package, those of go test -short, run once without a mutant, for their coverage and
// their time. A mutant then meets the tests of its
// own package, by an overlay of its file, if any of them runs its line; one that does not compile is
// none. A mutant under which the tests run away is stopped (ten times their time and five seconds)
// and counts as killed.
//
// # Survivors
//
// A survivor is either a missing test or equivalent: no input distinguishes it from the
// original. Equivalent ones are listed in testdata/mutants.txt beside the tests
// of the package, a line each, four fields separated by tabs:
//
//	update.go	UpdateTo	n < m -> n <= m	both branches give the same for n = m
//
// that is the file, the function, the mutation as printed, and the reason. A
// line that matches no mutant, or one that the tests kill, is reported: it is
// out of date. The share that is compared with -min counts listed mutants as
// survivors.
//
// The exit status is 0, 1 when less than -min percent were killed, 2 when the
// run was not possible.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/tools/go/packages"
)

// options are the flags.
type options struct {
	sample  int
	seed    uint64
	minimum float64
	verbose bool
}

// errTooFew is a run in which the tests noticed less than they should.
var errTooFew = errors.New("too few mutants were killed")

func main() {
	var o options
	flag.IntVar(&o.sample, "sample", 0, "mutants to choose at random; 0 takes all")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the choice")
	flag.Float64Var(&o.minimum, "min", 0, "fail if less than this many percent are killed")
	flag.BoolVar(&o.verbose, "v", false, "also print the mutants that were killed, and by which test")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: mutate [flags] DIR...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 || o.sample < 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code := 0
	for _, dir := range flag.Args() {
		if err := mutate(ctx, dir, o, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, "mutate:", err)
			status := 2
			if errors.Is(err, errTooFew) {
				status = 1
			}
			code = max(code, status)
		}
	}
	os.Exit(code)
}

// mutate tries the mutants below one folder and prints what it found.
func mutate(ctx context.Context, dir string, o options, out, progress io.Writer) (err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	pkgs, all, err := load(dir)
	if err != nil {
		return err
	}
	chosen := choose(all, o.sample, o.seed)
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	fmt.Fprintf(progress, "%s: %d of %d mutants\n", filepath.Base(dir), len(chosen), len(all))
	suites := map[string]*suite{}
	for _, m := range chosen {
		if suites[m.dir] == nil {
			if suites[m.dir], err = survey(ctx, m.dir, scratch); err != nil {
				return err
			}
		}
	}
	verdicts, err := judgeAll(ctx, chosen, suites, scratch, progress)
	if err != nil {
		return err
	}
	lists := map[string]string{}
	for _, pkg := range pkgs {
		if err := readList(lists, filepath.Dir(pkg.GoFiles[0])); err != nil {
			return err
		}
	}
	share := report(out, verdicts, lists, len(chosen) == len(all), o.verbose, fmt.Sprintf("%s: %d of %d mutants tried", filepath.Base(dir), len(verdicts), len(all)))
	if share < o.minimum {
		return fmt.Errorf("%w: %.1f %% of %s, want %g %%", errTooFew, share, filepath.Base(dir), o.minimum)
	}
	return nil
}

// choose draws a sample of the mutants; 0 takes all. They stay in the order of the source.
func choose(all []*mutant, sample int, seed uint64) []*mutant {
	if sample == 0 || sample >= len(all) {
		return all
	}
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))[:sample]
	slices.Sort(order)
	chosen := make([]*mutant, sample)
	for i, of := range order {
		chosen[i] = all[of]
	}
	return chosen
}

// listName is the file of equivalent mutants, beside a package's tests.
const listName = "testdata/mutants.txt"

// key identifies a mutant across changes of the lines around it.
func (m *mutant) key() string {
	return strings.Join([]string{m.path, m.function, m.mutation}, "\t")
}

// readList adds the lines of the list of the package in dir, if there is one: where each is, by its
// mutant's key.
func readList(lists map[string]string, dir string) error {
	path := filepath.Join(dir, listName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		at := fmt.Sprintf("%s:%d", path, i+1)
		fields := strings.Split(line, "\t")
		if len(fields) != 4 || strings.TrimSpace(fields[3]) == "" {
			return fmt.Errorf("%s: want file, function, mutation and reason, separated by tabs", at)
		}
		lists[filepath.Join(dir, fields[0])+"\t"+fields[1]+"\t"+fields[2]] = at
	}
	return err
}

// report prints the survivors, what is wrong with the lists, of which lines without a mutant are
// known if all have been tried, and a summary. It returns how many percent of the mutants were killed.
func report(out io.Writer, verdicts []verdict, lists map[string]string, whole, verbose bool, summary string) float64 {
	killed, listed := 0, 0
	for _, v := range verdicts {
		at, isListed := lists[v.key()]
		delete(lists, v.key())
		switch {
		case v.killer != "":
			killed++
			if isListed {
				fmt.Fprintf(out, "%s: listed, but %s kills it\n", at, v.killer)
			} else if verbose {
				fmt.Fprintf(out, "killed    %v  (%s)\n", v.mutant, v.killer)
			}
		case isListed:
			listed++
		case !v.covered:
			fmt.Fprintf(out, "uncovered %v\n", v.mutant)
		default:
			fmt.Fprintf(out, "survived  %v\n", v.mutant)
		}
	}
	if whole {
		for _, at := range slices.Sorted(maps.Values(lists)) {
			fmt.Fprintf(out, "%s: listed, but there is no such mutant\n", at)
		}
	}
	share := 100.
	if len(verdicts) > 0 {
		share = 100 * float64(killed) / float64(len(verdicts))
	}
	fmt.Fprintf(out, "%s, %d killed (%.1f %%), %d survived, %d of them listed as equivalent\n", summary, killed, share, len(verdicts)-killed, listed)
	return share
}

// load reads the packages below dir and lists their mutants.
func load(dir string) ([]*packages.Package, []*mutant, error) {
	pkgs, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
		packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedModule}, "./...")
	if err != nil {
		return nil, nil, err
	}
	var mutants []*mutant
	for _, pkg := range pkgs {
		if len(pkg.Errors) > 0 {
			return nil, nil, fmt.Errorf("%s: %w", pkg.PkgPath, pkg.Errors[0])
		}
		for _, file := range pkg.Syntax {
			found, err := mutantsOf(pkg, file, dir)
			if err != nil {
				return nil, nil, err
			}
			mutants = append(mutants, found...)
		}
	}
	return pkgs, mutants, nil
}
