package plugin_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// gate is a time.Now whose time stands still and that blocks its callers while it is shut.
type gate struct{ shut atomic.Pointer[chan struct{}] }

func (g *gate) Now() time.Time {
	if shut := g.shut.Load(); shut != nil {
		<-*shut
	}
	return time.Unix(1, 0)
}

func (g *gate) close() (open func()) {
	shut := make(chan struct{})
	g.shut.Store(&shut)
	return func() {
		g.shut.Store(nil)
		close(shut)
	}
}

// TestEndedStreamDoesNotBecomeTheNodes: a stream's first report is still being processed when the
// stream ends for idleness. It must not become its node's stream: nothing would ever end it, and it
// would swallow the notices of binds.
func TestEndedStreamDoesNotBecomeTheNodes(t *testing.T) {
	second := metav1.Duration{Duration: time.Second}
	var clock gate
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Now: clock.Now},
		args: plugin.SpazioArgs{MaxAge: second, IdleTimeout: second, MaxReportRate: 1e6, ReportBurst: 1 << 30}})
	client := c.dial()
	ended := c.open(client, nodeName(0))
	open := clock.close()
	ended.report(agent.Report{Incarnation: 1, Sequence: 9, Avail: 3})
	if _, err := ended.Recv(); status.Code(err) != codes.DeadlineExceeded {
		t.Fatalf("the stream ended with %v", err)
	}
	open()
	c.eventually("the report is processed", func() bool { return c.state(nodeName(0)).Avail == 3 })
	// A stream with older reports does not replace another.
	next := c.open(client, nodeName(0))
	next.report(agent.Report{Incarnation: 1, Sequence: 8, Avail: 5})
	noticed := make(chan reserve.PodKey, 1)
	go func() {
		notice, err := next.Recv()
		if err == nil {
			noticed <- reserve.PodKey(notice.GetPodBound().GetPod())
		}
	}()
	c.eventually("the node's stream gets the notice of a bind", func() bool {
		c.PostBind(context.Background(), &cycleState{}, newPod(1), nodeName(0))
		select {
		case key := <-noticed:
			return key == keyOf(1)
		default:
			next.report(agent.Report{Incarnation: 1, Sequence: 8, Avail: 5}) // so that it is not idle
			return false
		}
	})
}
