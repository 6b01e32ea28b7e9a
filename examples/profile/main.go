// Profile reads what a job took from a CSV file and prints what it should request.
//
//	go run ./examples/profile job.csv
//
// The file has a column timestamp and one of cpu_cores and memory_bytes, or both.
// Each series is replayed into a history of package profile, which the default
// preset's rule then makes a request of. Nothing here needs Kubernetes.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/replay"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, args []string) error {
	if len(args) != 1 {
		return errors.New("want one argument, a CSV file")
	}
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	series, err := replay.ReadCSV(args[0], file)
	if err != nil {
		return err
	}
	for _, s := range series {
		request, err := recommend(s)
		if err != nil {
			return err
		}
		if s.Resource == replay.Memory {
			fmt.Fprintf(w, "memory: %.0fM\n", request/1e6)
			continue
		}
		fmt.Fprintf(w, "cpu: %.0fm\n", request*1e3)
	}
	return nil
}

// recommend is what the default preset requests after the last sample.
func recommend(s replay.Series) (float64, error) {
	rule, scale := profile.Spazio().CPU, profile.CPU
	if s.Resource == replay.Memory {
		rule, scale = profile.Spazio().Memory, profile.Memory
	}
	history, err := profile.NewHistory(profile.HistoryConfig{Scale: scale, HalfLife: rule.HalfLife})
	if err != nil {
		return 0, err
	}
	if len(s.Times) == 0 {
		return 0, fmt.Errorf("%s: no samples", s.Name)
	}
	for i, at := range s.Times {
		if err := history.Add(at, s.Values[i], 1); err != nil {
			return 0, fmt.Errorf("%s, sample %d: %w", s.Name, i+1, err)
		}
	}
	return history.Target(s.Times[len(s.Times)-1], rule), nil
}
