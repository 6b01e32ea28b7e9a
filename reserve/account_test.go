package reserve_test

import (
	"sync"
	"testing"

	"github.com/spazio-scheduler/spazio/reserve"
)

// TestFlightIsConsistent: while a pod in flight alternates between a demand of much CPU and one of much
// memory, no reader sees little of both, and so no pod is admitted that never fits.
func TestFlightIsConsistent(t *testing.T) {
	var l reserve.Ledger
	a := l.Account("n")
	wide, large := knownPod(6, gib), knownPod(1, 12*gib)
	must(t, l.Reserve("n", 1, wide, epoch))
	// 8 cores' worth and 16 GiB: beside the first demand 6 cores are too much, beside the second 12
	// GiB.
	s, both := fourCores(), knownPod(5, 8*gib)
	s.Rooms[reserve.Memory].SD = 0
	for _, d := range []reserve.Demand{wide, large} {
		if _, _, err := l.UpdateDemand(1, d); err != nil || reserve.Fits(s, a.Flight(), both, certain) == reserve.Admitted {
			t.Fatalf("the pod fits beside %+v, %v", d, err)
		}
	}
	const rounds = 200_000
	var writer sync.WaitGroup
	done := make(chan struct{})
	writer.Add(1)
	go func() {
		defer writer.Done()
		defer close(done)
		for i := range rounds {
			if _, _, err := l.UpdateDemand(1, []reserve.Demand{wide, large}[i%2]); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	defer writer.Wait()
	for admitted := 0; ; {
		select {
		case <-done:
			return
		default:
		}
		if f := a.Flight(); reserve.Fits(s, f, both, certain) == reserve.Admitted {
			if admitted++; admitted > 3 {
				return
			}
			t.Errorf("a pod that never fits fits beside %+v", f)
		}
	}
}

// TestConcurrentAdmitsNeverExceedWhatFits: callers that hold their node's lock between Fits and Reserve
// never have more in flight than fits, whatever others release meanwhile.
func TestConcurrentAdmitsNeverExceedWhatFits(t *testing.T) {
	const most, callers, rounds = 7, 8, 5_000
	var l reserve.Ledger
	a := l.Account("n")
	s := reserve.Signal{Avail: most, Pods: 100}
	var node sync.Mutex
	var all sync.WaitGroup
	for caller := range callers {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := range rounds {
				pod := reserve.PodKey(1 + caller*rounds + i)
				node.Lock()
				admitted := reserve.Fits(s, a.Flight(), one, reserve.Rules{}) == reserve.Admitted
				if admitted {
					if err := l.Reserve("n", pod, one, epoch); err != nil {
						t.Error(err)
					}
					if got := a.Flight().Demand; got > most {
						t.Errorf("got %v pods in flight, want at most %d", got, most)
					}
				}
				node.Unlock()
				switch { // without the node's lock
				case !admitted:
				case i%2 == 0:
					l.Unreserve("n", pod)
				default:
					l.Delete(pod, epoch)
				}
			}
		}()
	}
	all.Wait()
	if got := a.Flight(); got != (reserve.Flight{}) {
		t.Errorf("got %+v still in flight", got)
	}
}
