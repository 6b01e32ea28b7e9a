package live_test

import (
	"os"

	"github.com/spazio-scheduler/spazio/sim/report/live"
)

// A program shows its progress. Where its output is not a terminal, as in a file, only the lines
// that stay are written.
func ExampleScreen() {
	s := live.NewScreen(os.Stdout)
	defer s.Release()
	for done := range 3 {
		s.Draw(func(int) []string { return []string{"working"} })
		s.Printf("%d of 3 done", done+1)
	}
	// Output:
	// 1 of 3 done
	// 2 of 3 done
	// 3 of 3 done
}
