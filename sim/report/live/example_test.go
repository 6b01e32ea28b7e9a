package live_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/sim/report/live"
	"github.com/spazio-scheduler/spazio/sim/report/table"
)

// The reader holds a row, which another overtakes: it is still the row that is held.
func ExampleModel() {
	var m live.Model
	m.Resize(60, 6)
	show := func(names ...string) {
		t := table.Table{Header: []string{"NODE"}}
		for _, name := range names {
			t.Add(name)
		}
		m.Show(live.Frame{Sheets: []live.Sheet{{Name: "nodes", Table: t}}}, time.Now())
	}
	held := func() {
		for _, line := range m.Lines() {
			if line.Style == live.Reversed {
				fmt.Println(strings.TrimSpace(line.Text))
			}
		}
	}
	show("worker-1", "worker-2")
	m.Press(live.Down)
	held()
	show("worker-2", "worker-1")
	held()
	fmt.Println(m.Press('q') == live.Quit)
	// Output:
	// worker-1
	// worker-1
	// true
}
