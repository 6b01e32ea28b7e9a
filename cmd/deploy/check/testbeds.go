package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// operatorName is the operator of test beds', its Deployment's and its lease's.
const operatorName = "spazio-testbed"

// testbeds reports what the operator of test beds does. If it answers, one leads.
func (c Config) testbeds(ctx context.Context) Result {
	r := Result{Name: "testbeds", Status: OK}
	if c.Testbeds == nil {
		r.Status, r.Text = Unknown, "their operator was not asked"
		return r
	}
	beds, err := c.Testbeds(ctx)
	if err != nil {
		return failed(r.Name, fmt.Errorf("their operator: %w", err))
	}
	slots, states := 0, map[string]int{}
	for _, b := range beds {
		for state, n := range b.Slots {
			slots += n
			states[state] += n
		}
		if b.SignalAge > roomAge {
			r.Status = Failed
			r.Details = append(r.Details, fmt.Sprintf("%s: the room of one of its nodes has not been known for %v: its slots there stay as they are", b.Name, b.SignalAge.Round(time.Second)))
		}
	}
	words := []string{"an operator leads", count(len(beds), "test bed"), count(slots, "slot")}
	for _, state := range slices.Sorted(maps.Keys(states)) {
		if n := states[state]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, state))
		}
	}
	r.Text = strings.Join(words, ", ")
	return r
}
