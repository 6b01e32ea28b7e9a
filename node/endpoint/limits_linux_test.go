package endpoint_test

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/node/endpoint"
)

// counted is a registry that knows how many ask at a time.
type counted struct{ now, most atomic.Int64 }

func (c *counted) registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "asking"}, func() float64 {
		n := c.now.Add(1)
		defer c.now.Add(-1)
		for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
		}
		runtime.Gosched()
		return float64(n)
	}))
	return r
}

// TestManyConnections: whoever opens connections without end, silent or full of requests,
// keeps a few of them open, and has few requests answered at a time; others are served.
func TestManyConnections(t *testing.T) {
	gatherer := &counted{}
	s, err := endpoint.NewMetrics(t.Context(), endpoint.Config{Addr: "127.0.0.1:0", Gatherer: gatherer.registry()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	requests := []byte(strings.Repeat("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 100))
	for i := range 600 {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 {
			_, _ = conn.Write(requests) // a connection may have been closed
		}
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}
	client := http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	for range 20 {
		answer, err := client.Get("http://" + s.Addr().String() + "/metrics")
		if err != nil {
			t.Errorf("somebody else: %v", err)
			continue
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("somebody else: %s", answer.Status)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if most := gatherer.most.Load(); most > 2 {
		t.Errorf("%d scrapes at a time", most)
	}
}
