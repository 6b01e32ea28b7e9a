package live

import (
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// A row that the reader holds stays held when another overtakes it.
func TestHeldRowIsOvertaken(t *testing.T) {
	var m model
	m.resize(60, 6)
	held := func(names ...string) (row string) {
		nodes := text.Table{Header: []string{"NODE"}}
		for _, name := range names {
			nodes.Add(name)
		}
		m.show(Frame{Sheets: []Sheet{{Name: "nodes", Table: nodes}}}, time.Now())
		if names[0] == "worker-1" {
			m.press(keyDown)
		}
		for _, line := range m.lines() {
			if line.style == styleReversed {
				row = strings.TrimSpace(line.text)
			}
		}
		return row
	}
	if first, then := held("worker-1", "worker-2"), held("worker-2", "worker-1"); first != "worker-1" || then != "worker-1" {
		t.Errorf("held %q, then %q", first, then)
	}
}
