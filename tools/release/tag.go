package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// printTags prints the commands that publish HEAD: a tag a module, each after those of the
// modules it requires, and one push of all, so that nobody ever sees some of them. It
// makes none.
func printTags(ctx context.Context, o options) error {
	r, err := openRelease(ctx, o.root)
	if err != nil {
		return err
	}
	are, err := r.sums(ctx)
	if err != nil {
		return err
	}
	missing, err := r.checkSums(are)
	if err != nil {
		return err
	}
	if missing > 0 {
		return invalid("go.sum", missing, "so many sums of siblings are missing: run sums and commit")
	}
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if _, has := section(string(changelog), r.version); !has {
		return invalid("CHANGELOG.md", r.version, "it has no heading of this version")
	}
	var names []string
	for _, m := range r.published {
		names = append(names, r.tag(m))
		fmt.Fprintf(o.stdout, "git tag -a -m 'Spazio %s' %s %s\n", r.version, r.tag(m), r.revision)
	}
	fmt.Fprintf(o.stdout, "git push --atomic origin %s\n", strings.Join(names, " "))
	return nil
}
