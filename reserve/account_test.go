package reserve_test

import (
	"sync"
	"testing"

	"github.com/spazio-scheduler/spazio/reserve"
)

// TestFlightIsOfOneMoment: while a pod in flight is counted now as one that takes much of
// the CPU, now as one that takes much memory, no node ever looks as if it took little of
// both, and so no pod gets in that never fits.
func TestFlightIsOfOneMoment(t *testing.T) {
	var l reserve.Ledger
	a := l.Account("n")
	wide, large := knownPod(6, gib), knownPod(1, 12*gib)
	must(t, l.Reserve("n", 1, wide, epoch))
	// 8 cores' worth and 16 GiB: beside the one 6 cores, beside the other 12 GiB are too much.
	s, both := fourCores(), knownPod(5, 8*gib)
	s.Rooms[reserve.Memory].SD = 0
	for _, d := range []reserve.Demand{wide, large} {
		if _, _, err := l.UpdateDemand(1, d); err != nil || reserve.Fits(s, a.Flight(), both, certain) == reserve.Admitted {
			t.Fatalf("it fits beside %+v, %v", d, err)
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
			t.Errorf("a pod fits that never does, beside %+v", f)
		}
	}
}

// TestConcurrentAdmitsNeverExceedWhatFits: callers that hold their node's lock between Fits
// and Reserve never have more in flight than fits, whatever others take back meanwhile.
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
					if got := a.Pods(); got > most {
						t.Errorf("%d pods in flight, of %d that fit", got, most)
					}
				}
				node.Unlock()
				switch { // not under the node's lock
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
		t.Errorf("%+v left in flight", got)
	}
}
