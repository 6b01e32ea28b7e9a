package endpoint_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/node/endpoint"
)

// counted is a registry that counts concurrent gathers.
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

// mostOpen is the limit of served and waiting connections.
const mostOpen = 128

// stillOpen counts the connections that the server has not closed.
func stillOpen(all []net.Conn) (n int) {
	answers := make([]byte, 64<<10)
	for _, conn := range all {
		_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		for {
			if _, err := conn.Read(answers); err != nil {
				if errors.Is(err, os.ErrDeadlineExceeded) {
					n++
				}
				break
			}
		}
	}
	return n
}

// TestManyConnections: a client that opens 4,000 connections, silent or full of pipelined requests,
// keeps only a few open and gets few requests served at a time; other clients are served.
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
	var all []net.Conn
	for i := range 4000 {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		all = append(all, conn)
		if i%4 > 0 {
			_, _ = conn.Write(requests) // a connection may have been closed
		}
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}
	client := http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	for range 20 {
		answer, err := client.Get("http://" + s.Addr().String() + "/metrics")
		if err != nil {
			t.Errorf("another client: got error %v", err)
			continue
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("another client: got status %s", answer.Status)
		}
	}
	// The later client has been served, so every connection over the limit has been closed already, and
	// not by a timeout.
	if open := stillOpen(all); open > mostOpen {
		t.Errorf("%d connections are open, want at most %d", open, mostOpen)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if most := gatherer.most.Load(); most > 2 {
		t.Errorf("got %d concurrent scrapes", most)
	}
}
