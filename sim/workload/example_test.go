package workload_test

import (
	"fmt"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/workload"
)

// Of two pods of a file the first leaves its cores to the default, one, and takes 1 GB.
func ExampleReadPods() {
	pods, err := workload.ReadPods(strings.NewReader(`arrival,work,memory,cores
0,30,1e9,
2.5,120,,4
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range pods {
		fmt.Printf("at %.1f s: %.0f core-seconds, %.0f MB, %.0f s alone\n", p.Created, p.Work, p.Memory/1e6, p.Solo())
	}
	// Output:
	// at 0.0 s: 30 core-seconds, 1000 MB, 30 s alone
	// at 2.5 s: 120 core-seconds, 0 MB, 30 s alone
}

// A batch of equal pods, of which a rollout in its middle would double the memory.
func ExampleBatch() {
	pods, err := workload.Batch(1, 3, 10, workload.Equal)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range pods {
		pods[i].Created, pods[i].Memory = float64(i), 1<<30
	}
	for _, p := range workload.RollOut(pods, 1, 2, 4<<30) {
		fmt.Printf("%.0f s of work, %.0f GiB, revision %q\n", p.Work, p.Memory/(1<<30), p.Revision)
	}
	// Output:
	// 10 s of work, 1 GiB, revision ""
	// 10 s of work, 2 GiB, revision "new"
	// 10 s of work, 2 GiB, revision "new"
}
