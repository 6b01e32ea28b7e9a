package text_test

import (
	"fmt"
	"os"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Letters of some scripts take two columns, and what moves a cursor takes none of it.
func Example() {
	fmt.Println(text.Width("节点 1"), text.Plain("a\tb\x1b[2J") == "a b\uFFFD[2J")
	fmt.Println(text.Shorten("gke-pool-7f3a-x2k9", 11), text.Shorten("waits for a node", 11))
	for _, line := range text.Wrap("no node has room for it", 10) {
		fmt.Println(line)
	}
	// Output:
	// 6 true
	// gke-p…-x2k9 waits for …
	// no node
	// has room
	// for it
}

// A program shows its progress. Where its output is not a terminal, as in a file, only the lines
// that stay are written.
func ExampleScreen() {
	s := text.NewScreen(os.Stdout)
	defer s.Release()
	for done := range 3 {
		if err := s.Draw(func(int, int) []string { return []string{"working"} }); err != nil {
			fmt.Println(err)
		}
		s.Printf("%d of 3 done", done+1)
	}
	// Output:
	// 1 of 3 done
	// 2 of 3 done
	// 3 of 3 done
}
