package baseline_test

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/sim/baseline"
)

// These are kube-scheduler's two default scores, and Trimaran's, of a node of four cores of which
// half of everything is requested and a tenth of the CPU used.
func Example() {
	node := baseline.Resources{CPU: 4, Memory: 16 << 30}
	requested := baseline.Resources{CPU: 2, Memory: 8 << 30}
	pod := baseline.Resources{CPU: 1, Memory: 1 << 30}
	fmt.Println("least allocated:", baseline.LeastAllocated(node, requested.Plus(pod)))
	fmt.Println("balanced:", baseline.BalancedAllocation(node, requested, pod))
	expected := .4 + baseline.PredictedCPU(pod.CPU, 0)
	fmt.Printf("target load packing, %.1f cores expected: %d\n", expected, baseline.TargetLoadPacking(expected, node.CPU, baseline.TargetUtilisation))
	// Output:
	// least allocated: 34
	// balanced: 70
	// target load packing, 1.9 cores expected: 35
}
