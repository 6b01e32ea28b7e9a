package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// What no run could be made of, or no file written of, is refused before the first run: there may be
// hours of them.

// checkFile returns an error if a flag's file is of the wrong kind or its directory does not exist.
func checkFile(flag, path string, kind func(string) error) error {
	if path == "" {
		return nil
	}
	if err := kind(path); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return checkDirectory(flag, filepath.Dir(path))
}

// checkDirectory returns an error if a flag's directory does not exist.
func checkDirectory(flag, dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("--%s: %s is no directory", flag, dir)
	}
	return nil
}

// checkSeeds returns an error if a number of seeds is out of range.
func checkSeeds(n int) error {
	if n < 1 || n > 10_000 {
		return fmt.Errorf("--seeds %d, want 1 to 10000: %w", n, errFlag)
	}
	return nil
}

// checkGiven refuses what the experiments would take for their defaults.
func (p *plan) checkGiven() error {
	for _, name := range []string{"batch", "duration"} {
		f := p.flags.Lookup(name)
		if value := f.Value.String(); f.Changed && (value == "0" || strings.HasPrefix(value, "-")) {
			return fmt.Errorf("--%s %s, want more than 0: %w", name, value, errFlag)
		}
	}
	return nil
}

// checkUsed refuses values for what none of the cases differs in.
func (p *plan) checkUsed(cases []experiment.Case) error {
	for _, name := range []string{"work", "load", "requests"} {
		used := func(c experiment.Case) bool { return strings.Contains(c.Label, "/"+name+"=") }
		if p.flags.Changed(name) && !slices.ContainsFunc(cases, used) {
			return fmt.Errorf("--%s: none of the experiments has it", name)
		}
	}
	return nil
}
