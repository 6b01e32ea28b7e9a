package colocate_test

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// Rows in the format of the thesis' program give the next pair to profile, and both plans.
func Example() {
	var m colocate.Matrix
	for job, data := range map[string]string{
		"crawler":   `[{"pi": "30 (4)", "sort": "12 (4)", "wordcount": "13 (4)"}]`,
		"pi":        `[{"crawler": "31 (4)", "sort": "14 (4)", "wordcount": "15 (4)"}]`,
		"sort":      `[{"crawler": "12 (4)", "pi": "11 (4)", "wordcount": "10 (3)"}]`,
		"wordcount": `[{"crawler": "12 (4)", "pi": "14 (4)", "sort": "10 (4)"}]`,
	} {
		row, err := colocate.ParseRow([]byte(data))
		if err != nil {
			fmt.Println(err)
		}
		_ = m.Set(job, row)
	}
	next, _ := m.Next([]string{"crawler", "pi", "sort", "wordcount"})
	fmt.Println("next", next)
	greedy, _ := m.Greedy([]string{"sort", "wordcount", "pi", "crawler"})
	fmt.Println(greedy.Pairs, greedy.Longest)
	plan, _ := m.Plan([]string{"sort", "wordcount", "pi", "crawler"})
	fmt.Println(plan.Pairs, plan.Longest)
	// Output:
	// next {sort wordcount}
	// [{sort wordcount} {pi crawler}] 31
	// [{crawler wordcount} {pi sort}] 14
}
