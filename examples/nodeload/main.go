// Nodeload asks how many more loads of the usual kind fit on a node.
//
// It takes two blocks of samples, as an agent makes them at 10 Hz, updates a
// model of the load with package svd and lets package capacity extend the
// newest sample along the model's direction until a channel is full. Nothing
// here needs Kubernetes.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/svd"
)

var channels = []string{"cpu", "memory"}

// blocks holds samples of the channels, 0 empty and 1 full: a node with two
// pods, then with a third.
var blocks = [][][]float64{
	{
		{.41, .20}, {.39, .20}, {.44, .21}, {.40, .21}, {.38, .21},
		{.42, .21}, {.40, .20}, {.43, .21}, {.39, .21}, {.41, .21},
	},
	{
		{.58, .27}, {.61, .28}, {.60, .28}, {.63, .28}, {.59, .28},
		{.60, .28}, {.62, .28}, {.58, .28}, {.61, .28}, {.60, .28},
	},
}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "nodeload:", err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	var model svd.Model // empty; the zero Options are the defaults
	for i, block := range blocks {
		var err error
		if model, err = svd.Update(model, block, svd.Options{}); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
		if err := report(w, i, model, block[len(block)-1]); err != nil {
			return err
		}
	}
	return nil
}

// report prints the typical load q of the model and how often it fits beside
// the usage y.
func report(w io.Writer, block int, model svd.Model, y []float64) error {
	q := model.DemandTo(nil)
	signal, err := capacity.Solve(y, q, capacity.Options{})
	if err != nil {
		return fmt.Errorf("signal of block %d: %w", block, err)
	}
	limit := "nothing"
	if signal.Limiting >= 0 {
		limit = channels[signal.Limiting]
	}
	_, err = fmt.Fprintf(w, "usage %.2f, typical load %.2f: k = %.2f, limited by %s\n", y, q, signal.K, limit)
	return err
}
