package screen_test

import (
	"os"

	"github.com/spazio-scheduler/spazio/sim/report/screen"
)

// A program says how far it is. Where its output is no terminal, as in a file, only the lines
// that stay are there.
func Example() {
	s := screen.New(os.Stdout, nil) // screen.TerminalSize(os.Stdout) on a terminal
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
