// Command mutate asks a module's tests whether they notice faults: it puts one
// small fault (a mutant) at a time into the module's code and runs the tests
// that reach it. A mutant that no test fails for has survived.
//
//	mutate [-sample 200 -seed 1] DIR...
//
// Each DIR is a folder of the workspace; its packages and all below it are
// mutated, and their own tests are run. .ci/mutate builds and runs it.
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
//	constant     a number doubled, with -constants only
//
// Constant expressions, generated files and files of other platforms are left
// alone, and functions that recover, since only the deferred function itself
// may.
//
// # How
//
// All mutants of a module are compiled at once (mutant schemata; Untch, Offutt,
// Harrold, 1993): a function becomes a switch over copies of itself, one a
// mutant, and an environment variable picks the copy, so that a mutant costs a
// run of tests and no build. Each test is run alone first, to see which
// functions it calls and how long it takes; a mutant then meets only the tests
// that call its function, the quick ones first, and none that takes longer than
// -slow. A mutant under which the tests run away is stopped (ten times their
// time and -slack) and counts as killed.
//
// # Survivors
//
// A survivor is either a missing test or equivalent: no input tells it from the
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
