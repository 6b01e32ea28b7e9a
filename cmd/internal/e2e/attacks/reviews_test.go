package attacks

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/plugin"
)

// tlsFrom connects from an address to a server of the trusted authority, in plaintext without one.
func tlsFrom(t testing.TB, target string, from netip.Addr, trust transport.Config) *grpc.ClientConn {
	t.Helper()
	options, err := transport.DialOptions(target, trust)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := grpc.NewClient(target, append(options, grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
		return dialer.DialContext(ctx, "tcp", addr)
	}))...)
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

// forger opens streams with different tokens that make an agent's claims, over a few connections from
// one address, at the rate at which the API server was seen to review them, until ctx ends. It counts
// them in shown.
func forger(t testing.TB, ctx context.Context, target string, trust transport.Config, genuine string, shown *atomic.Int64) {
	parts := strings.Split(genuine, ".")
	pace := rate.NewLimiter(2000, 100)
	var forging sync.WaitGroup
	for range 8 {
		connection := tlsFrom(t, target, attackerAddress, trust)
		defer connection.Close()
		for range 8 {
			forging.Go(func() {
				for pace.Wait(ctx) == nil {
					signature := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%0256d", shown.Add(1)))
					token := parts[0] + "." + parts[1] + "." + signature
					ctx := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
					if stream, err := spaziov1.NewSignalServiceClient(connection).Publish(ctx); err == nil {
						_, _ = stream.Recv() // until it is refused
					}
				}
			})
		}
	}
	forging.Wait()
}

// reviewsMade returns how many reviews the API server has made.
func reviewsMade(t testing.TB, client kubernetes.Interface) (n float64) {
	t.Helper()
	text, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("apiserver_request_total{")) && bytes.Contains(line, []byte(`resource="tokenreviews"`)) {
			var v float64
			if _, err := fmt.Sscan(string(line[bytes.LastIndexByte(line, ' ')+1:]), &v); err != nil {
				t.Fatal(err)
			}
			n += v
		}
	}
	return n
}

// admissions connects unknown agents from an address, one after the other with tokens of their own, and
// returns the time of each from the first byte to its report's effect. The reports' sequence numbers
// follow after.
func admissions(t testing.TB, hub *plugin.Hub, trust transport.Config, node string, after uint64, tokens []string) []time.Duration {
	t.Helper()
	var took []time.Duration
	for i, token := range tokens {
		sequence := after + uint64(i) + 1
		began := time.Now()
		connection := tlsFrom(t, hub.Addr().String(), honestAddress, trust)
		ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer "+token))
		stream, err := spaziov1.NewSignalServiceClient(connection).Publish(ctx)
		if err != nil {
			t.Fatal(err)
		}
		report := honest(node, sequence)
		report.Avail = float64(sequence)
		if err := stream.Send(api.FromReport(report)); err != nil {
			_, err = stream.Recv()
			t.Fatal(err)
		}
		for !slices.ContainsFunc(hub.Snapshot(), func(n plugin.NodeState) bool { return n.Avail == report.Avail }) {
			if time.Since(began) > cluster.Patience {
				t.Fatal("an honest agent's report has no effect")
			}
			time.Sleep(200 * time.Microsecond)
		}
		took = append(took, time.Since(began))
		cancel()
		connection.Close()
	}
	slices.Sort(took)
	return took
}

// An attacker that presents forged tokens without end causes the API server little work, and an agent
// from elsewhere is admitted as before.
func TestForgedTokensDelayNoAgent(t *testing.T) {
	client, kubeconfig := cluster.Connect(t)
	server := transporttest.SelfSigned(t, "127.0.0.1")
	hub, _ := cluster.StartScheduler(t, kubeconfig, plugin.SpazioArgs{
		TLSCertFile: server.CertFile, TLSKeyFile: server.KeyFile, ReviewKubeconfig: kubeconfig,
		AgentServiceAccount: metav1.NamespaceDefault + "/" + agentAccount,
		MaxReportRate:       1e6, ReportBurst: 1e6,
	}, plugin.HubOptions{})
	trust := transport.Config{CAFile: server.CAFile}
	const node = "node-mine"
	cluster.Register(t, client, node)
	accounts(t, client, agentAccount)
	t.Cleanup(func() { cluster.Remove(t, client) })
	pod := agentPod(t, client, agentAccount, node)
	cluster.WaitSignals(t, hub, "missing", 1)
	const agents = 200
	var tokens []string
	for range 2 * agents {
		text, err := os.ReadFile(tokenFor(t, client, agentAccount, "spazio-scheduler", pod))
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, string(text))
	}

	quiet := admissions(t, hub, trust, node, 0, tokens[:agents])
	before := reviewsMade(t, client)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var shown atomic.Int64
	var forging sync.WaitGroup
	began := time.Now()
	forging.Go(func() { forger(t, ctx, hub.Addr().String(), trust, tokens[0], &shown) })
	besieged := admissions(t, hub, trust, node, agents, tokens[agents:])
	cluster.Eventually(t, "2,000 forged tokens", func() (bool, any) { return shown.Load() >= 2000, shown.Load() })
	cancel()
	forging.Wait()
	lasted := time.Since(began).Seconds()
	reviews := reviewsMade(t, client) - before - agents
	t.Logf("admission of %d agents: p50 %v, p99 %v; beside a forger that showed %.0f tokens a second for %.1f s: p50 %v, p99 %v; %.0f reviews for it",
		agents, quiet[agents/2], quiet[agents*99/100], float64(shown.Load())/lasted, lasted, besieged[agents/2], besieged[agents*99/100], reviews)
	// The API server may count a review a moment after its answer.
	if most := 32 + lasted + 8; reviews > most || reviews < 32-8 {
		t.Errorf("got %.0f reviews of forged tokens, want about 32 to %.0f", reviews, most)
	}
}
