package main

import (
	"fmt"
	"io"
)

// A report is what a run found.
type report struct {
	dir      string
	total    int // mutants there are
	verdicts []verdict
	lists    []*entry
	whole    bool // every mutant was tried
}

func (r report) killed() int {
	n := 0
	for _, v := range r.verdicts {
		if v.killer != "" {
			n++
		}
	}
	return n
}

// share is the percentage that was killed.
func (r report) share() float64 {
	if len(r.verdicts) == 0 {
		return 100
	}
	return 100 * float64(r.killed()) / float64(len(r.verdicts))
}

func (r report) print(out io.Writer, verbose bool) {
	byKey := map[string]*entry{}
	for _, e := range r.lists {
		byKey[e.key] = e
	}
	listed, away := 0, 0
	for _, v := range r.verdicts {
		e := byKey[v.key()]
		if e != nil {
			e.used = true
		}
		switch {
		case v.killer != "" && e != nil:
			fmt.Fprintf(out, "%s:%d: listed, but %s kills it\n", e.path, e.line, v.killer)
		case v.killer != "":
			if verbose {
				fmt.Fprintf(out, "killed    %v  (%s)\n", v.mutant, v.killer)
			}
		case e != nil:
			listed++
		case v.ran == 0:
			fmt.Fprintf(out, "uncovered %v\n", v.mutant)
		default:
			fmt.Fprintf(out, "survived  %v\n", v.mutant)
		}
		if v.away {
			away++
		}
	}
	if r.whole {
		for _, e := range r.lists {
			if !e.used {
				fmt.Fprintf(out, "%s:%d: listed, but there is no such mutant\n", e.path, e.line)
			}
		}
	}
	fmt.Fprintf(out, "%s: %d of %d mutants tried, %d killed (%.1f %%; %d ran away), %d survived, %d of them listed as equivalent\n",
		r.dir, len(r.verdicts), r.total, r.killed(), r.share(), away, len(r.verdicts)-r.killed(), listed)
}
