package fakerapl_test

import (
	"fmt"
	"os"
	"time"

	"github.com/spazio-scheduler/spazio/energy/source/fakerapl"
)

// A package of two cores has one busy for a second: half of the load's power adds to its 10 W, and
// the machine reports which consumer caused it.
func Example() {
	dir, err := os.MkdirTemp("", "fakerapl")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	machine, err := fakerapl.New(fakerapl.Config{Dir: dir, Sockets: 1, Cores: 2, Idle: 10, Max: 30})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = machine.Close() }()
	began := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for tenth := range 11 {
		ran := time.Duration(tenth) * 100 * time.Millisecond
		if err := machine.Advance(began.Add(ran), []fakerapl.Consumer{{Socket: 0, CPU: ran}}); err != nil {
			fmt.Println(err)
			return
		}
	}
	joules, consumers := machine.Truth()
	fmt.Printf("%.0f J, of which the consumer's load %.0f J\n", joules, consumers[0])
	// Output: 20 J, of which the consumer's load 10 J
}
