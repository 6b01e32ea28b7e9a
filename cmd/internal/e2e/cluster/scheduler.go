package cluster

import (
	"context"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/plugin/plugintest"
	"github.com/spazio-scheduler/spazio/reserve"
)

// StartScheduler runs a scheduler in this process until stop or the test's end. The zero Listen of the
// arguments is any port, the zero MaxAge one that no report reaches even if the machine stops the
// process for seconds.
func StartScheduler(t testing.TB, kubeconfig string, args plugin.SpazioArgs, o plugin.HubOptions) (hub *plugin.Hub, stop func()) {
	t.Helper()
	if args.Listen == "" {
		args.Listen = "127.0.0.1:0"
	}
	if args.MaxAge.Duration == 0 {
		args.MaxAge.Duration = Patience
	}
	return RunScheduler(t, service.Config{Kubeconfig: kubeconfig, Args: args, Hub: plugin.NewHub(o)})
}

// RunScheduler runs a scheduler of any configuration in this process until stop or the test's end.
func RunScheduler(t testing.TB, c service.Config) (hub *plugin.Hub, stop func()) {
	t.Helper()
	s, err := service.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Errorf("scheduler: %v", err)
		}
	})
	room := plugintest.WatchRoom(s.Hub())
	stop = sync.OnceFunc(func() {
		judge(t, room.Stop())
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return s.Hub(), stop
}

// judge checks that no pod waited longer than the slow retry while a node had room.
func judge(t testing.TB, longest time.Duration) {
	if longest > config.DefaultRetryPeriod {
		t.Errorf("pods waited for %v while a node had room, more than the slow retry of %v", longest, config.DefaultRetryPeriod)
	} else if longest > 0 {
		t.Logf("pods waited for at most %v while a node had room", longest)
	}
}

// WaitSignals waits until the signals of n nodes are fresh, stale or missing.
func WaitSignals(t testing.TB, hub *plugin.Hub, state string, n int) {
	t.Helper()
	Eventually(t, "signals "+state, func() (bool, any) {
		count := 0
		for _, s := range hub.Snapshot() {
			if s.Signal == state {
				count++
			}
		}
		return count == n, count
	})
}

// WaitEmpty waits until no pod of the API is left in the ledger. A pod that only a report has listed
// may be remembered for a minute.
func WaitEmpty(t testing.TB, hub *plugin.Hub) {
	t.Helper()
	Eventually(t, "ledger is empty", func() (bool, any) {
		inflight, census := 0., hub.Ledger()
		for _, s := range hub.Snapshot() {
			inflight += s.InFlight
		}
		census.Unclaimed = 0
		return inflight == 0 && census == reserve.Census{}, hub.Ledger()
	})
}

// CheckNothingLeft removes all pods and waits until the scheduler has forgotten
// them.
func CheckNothingLeft(t *testing.T, client kubernetes.Interface, hub *plugin.Hub) {
	t.Helper()
	Remove(t, client)
	WaitEmpty(t, hub)
	Eventually(t, "no pod waits", func() (bool, any) { return hub.Waiting() == 0, hub.Waiting() })
}
