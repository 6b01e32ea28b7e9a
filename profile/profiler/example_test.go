package profiler_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/reserve"
)

// The API shows a pod, its node's agent reports its usage, and that becomes its workload's profile.
func Example() {
	store, err := profiler.New(profiler.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	const uid = "3f1c0e52-9a7b-4c1d-8e2f-0123456789ab"
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	web := profile.Workload{Namespace: "shop", Kind: "Deployment", Name: "web"}
	store.Pod(at, profiler.Pod{UID: uid, Node: "worker-1", Workload: web, Always: true})
	results := store.Windows(at.Add(time.Minute), agent.UsageBatch{
		Node: "worker-1", Incarnation: 1, Sequence: 1,
		Windows: []agent.Window{{Pod: reserve.KeyOf(uid), Usage: profile.Usage{
			Age: time.Hour, Span: time.Minute, CPU: 30, Pressure: true, Memory: 200 << 20, MemoryPeak: 200 << 20,
		}}},
	})
	fmt.Println("accepted:", results[profiler.Accepted])
	for _, u := range store.Changed(at.Add(time.Minute), 10) {
		fmt.Printf("%v: %.2f cores, %.0f MiB, confidence %.2f\n", u.Workload, u.Demand.CPU.Amount, u.Demand.Memory.Amount/(1<<20), u.Demand.CPU.Confidence)
		store.Published(u)
	}
	fmt.Println("left:", len(store.Changed(at.Add(time.Minute), 10)))
	// Output:
	// accepted: 1
	// shop/Deployment/web: 0.50 cores, 215 MiB, confidence 0.50
	// left: 0
}
