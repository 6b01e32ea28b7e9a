package placement_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/placement"
)

// slots are the free slots of each node, for pods of any class.
type slots []int

func (s slots) Slots(node, _ int, beside []int) int { return s[node] - len(beside) }
func (s slots) Places(int, int) int                 { return 0 }

// Three pods are refused by both nodes. Then a node has room for one.
func Example() {
	room := slots{0, 0}
	q := placement.New(placement.Config{Pause: 10 * time.Millisecond, Retry: 30 * time.Second, Grant: 25 * time.Millisecond}, room)
	q.AddNode(0)
	q.AddNode(1)
	for pod := range 3 {
		q.AddPod(pod, placement.Pod{Priority: int32(pod / 2), Order: int64(pod)})
		q.Try(pod, 0)
		var full placement.WaitSet
		full.Add(0)
		full.Add(1)
		q.Refuse(pod, full, 0)
	}
	room[1] = 1
	q.NotifyNode(1, time.Second)
	q.Advance(time.Second)
	q.Round(time.Second)
	fmt.Println("woken:", q.Woken())
	q.Reserve(2, 1)
	room[1] = 0
	q.NotifyNode(1, time.Second)
	fmt.Println("waiting:", q.Waiting())
	// Output:
	// woken: [2]
	// waiting: 2
}
