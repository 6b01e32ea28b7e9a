// Package documents holds the tests of the commands and settings in the documents.
//
// docs/configure is made from the programs' flags, the plugins' arguments, the chart's schema
// and the list of metrics:
//
//	go test ./cmd/internal/e2e/documents -update
//
// Commands that a reader is to type stand in blocks of sh, in any markdown file. A comment
// right above says what runs them:
//
//	<!-- run: here -->                         this package, as they stand; kubectl finds what our manifests make
//	<!-- run: here, with --seeds 1 -->         the same, our programs with further flags, to be done in seconds
//	<!-- run: TestX of cmd/internal/e2e/y -->  that test
//	<!-- run: .ci/run STEP -->                 that step
//	<!-- run: as in docs/FILE.md -->           what runs the same block there
//	<!-- by hand: REASON -->                   no test, since it needs what tests do not have
//
// Of all of them, of code in text and of comments on code, the programs, their commands and
// flags, tests, steps and files have to exist.
package documents
