package external

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
)

// intrude opens so many connections from an address, sends the same on each and leaves it open until
// the returned function is called.
func intrude(t *testing.T, target string, from netip.Addr, connections int, wantText string) (end func()) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), Timeout: time.Second}
	var mu sync.Mutex
	var open []net.Conn
	var dialing sync.WaitGroup
	room := make(chan struct{}, 64)
	for range connections {
		room <- struct{}{}
		dialing.Go(func() {
			defer func() { <-room }()
			c, err := dialer.Dial("tcp", target)
			if err != nil {
				return // refused
			}
			_, _ = c.Write([]byte(wantText)) // it may have been closed already
			mu.Lock()
			defer mu.Unlock()
			open = append(open, c)
		})
	}
	dialing.Wait()
	return func() {
		for _, c := range open {
			c.Close()
		}
	}
}

// TestUnauthenticatedCallersUseLittleOfTheInterface: while one address holds thousands of connections
// with requests that never end, each new caller with a token is answered within 5 s, and the program's
// memory hardly grows.
func TestUnauthenticatedCallersUseLittleOfTheInterface(t *testing.T) {
	const honest, patience, growth = 100, 5 * time.Second, 64 << 20
	r := newRig(t)
	token := r.token(driver, "")
	address, metrics := transporttest.Address(t), transporttest.Address(t)
	program := &cluster.Command{Role: "testbed", Args: []string{
		"--kubeconfig=" + r.program, "--lease-namespace=" + system, "--listen=" + address, "--metrics-listen=" + metrics,
	}}
	program.Start(t)
	s := cluster.NewScraper("http://"+metrics, "")
	cluster.WaitMetric(t, s, `spazio_testbed_refused_callers_total{cause="connections"}`, 0)
	ask := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/external/v1/session", nil)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+token)
		fresh := &http.Transport{DisableKeepAlives: true}
		response, err := fresh.RoundTrip(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("answered %s", response.Status)
		}
		return nil
	}
	memory := func() float64 {
		t.Helper()
		bytes, err := s.Value(t.Context(), "process_resident_memory_bytes")
		if err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	if err := ask(); err != nil {
		t.Fatalf("before the attack: got error %v", err)
	}
	const head = "POST /external/v1/session HTTP/1.1\r\nHost: localhost\r\n"
	for name, wantText := range map[string]string{
		"nothing":              "",
		"half a header":        head + "X-Long: " + strings.Repeat("a", 60<<10),
		"half a body":          head + "Content-Type: application/json\r\nContent-Length: 1048576\r\n\r\n" + strings.Repeat(" ", 512<<10),
		"half a TLS handshake": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	} {
		t.Run(name, func(t *testing.T) {
			before := memory()
			end := intrude(t, address, netip.MustParseAddr("127.0.0.66"), 4000, wantText)
			defer end()
			most, slowest := before, time.Duration(0)
			for i := range honest {
				began := time.Now()
				if err := ask(); err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
				slowest = max(slowest, time.Since(began))
				most = max(most, memory())
			}
			t.Logf("%.1f MiB + %.1f MiB, slowest honest call %v", before/(1<<20), (most-before)/(1<<20), slowest)
			if most-before > growth {
				t.Errorf("the program grew by %.0f MiB", (most-before)/(1<<20))
			}
		})
	}
	program.Interrupt(t)
}
