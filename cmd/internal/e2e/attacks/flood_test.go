package attacks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/node/publish"
)

// impostor is the address of an attacker with a valid token who reports for other nodes.
var impostor = netip.MustParseAddr("127.0.0.67")

// withToken returns the context of calls with a token.
func withToken(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// admitted connects an agent unknown to the scheduler, and returns how long it takes until the
// scheduler reads from it.
func admitted(t *testing.T, target string, trust transport.Config, token string) time.Duration {
	t.Helper()
	began := time.Now()
	connection := tlsFrom(t, target, honestAddress, trust)
	defer connection.Close()
	ctx, cancel := context.WithCancel(withToken(t.Context(), token))
	defer cancel()
	stream, err := spaziov1.NewSignalServiceClient(connection).Publish(ctx)
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		t.Errorf("an honest agent is not admitted: %v", err)
	}
	return time.Since(began)
}

// inventNames pushes the models of so many nodes with another node's token, at the forger's pace, so
// that it uses no more of the machine than that, and returns those that were not refused.
func inventNames(t *testing.T, target string, trust transport.Config, token string, names int) (accepted []string) {
	var next atomic.Int64
	var mu sync.Mutex
	var inventing sync.WaitGroup
	pace := rate.NewLimiter(2000, 100)
	for range 8 {
		connection := tlsFrom(t, target, impostor, trust)
		defer connection.Close()
		for range 4 {
			inventing.Go(func() {
				for n := next.Add(1); n <= int64(names) && pace.Wait(t.Context()) == nil; n = next.Add(1) {
					name := fmt.Sprintf("invented-%05d", n)
					if err := sayModel(withToken(t.Context(), token), connection, name, 1, 0); status.Code(err) != codes.PermissionDenied {
						mu.Lock()
						accepted = append(accepted, fmt.Sprint(name, ": ", err))
						mu.Unlock()
					}
				}
			})
		}
	}
	inventing.Wait()
	return accepted
}

// tokensOf returns tokens of a pod, all different.
func tokensOf(t *testing.T, audience string, pod *corev1.Pod, count int) (tokens []string) {
	t.Helper()
	client, _ := cluster.Connect(t)
	for range count {
		tokens = append(tokens, read(t, tokenFor(t, client, agentAccount, audience, pod)))
	}
	return tokens
}

// TestFlood: while attackers do everything they can to both servers at once, pods are bound as before,
// unknown agents are admitted, models are accepted, and neither server grows by much.
func TestFlood(t *testing.T) {
	const pods, agents, calls, idle, names = 80, 200, 4000, 2000, 22000
	client, kubeconfig := cluster.Connect(t)
	server := transporttest.SelfSigned(t, "127.0.0.1")
	trust := transport.Config{CAFile: server.CAFile}
	accounts(t, client, agentAccount)
	t.Cleanup(func() { cluster.Remove(t, client) })
	account := metav1.NamespaceDefault + "/" + agentAccount
	signals, debug, models, metrics := transporttest.Address(t), transporttest.Address(t), transporttest.Address(t), transporttest.Address(t)
	scheduler := &cluster.Command{Role: "scheduler", Args: []string{
		"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0", "--debug-listen=" + debug, "--signal-listen=" + signals,
		"--signal-tls-dir=" + filepath.Dir(server.CertFile), "--agent-service-account=" + account,
	}}
	scheduler.Start(t)
	aggregator := &cluster.Command{Role: "aggregator", Args: []string{
		"--kubeconfig=" + kubeconfig, "--listen=" + models, "--metrics-listen=" + metrics, "--agent-service-account=" + account,
		"--tls-dir=" + filepath.Dir(server.CertFile),
	}}
	aggregator.Start(t)
	agentPods := map[string]*corev1.Pod{}
	machines := cluster.NewPlaceNodesWith(t, client, 5, cluster.Places, func(node string) publish.SignalsConfig {
		agentPods[node] = agentPod(t, client, agentAccount, node)
		return publish.SignalsConfig{Targets: []string{signals}, Transport: trust, TokenFile: tokenFor(t, client, agentAccount, "spazio-scheduler", agentPods[node])}
	})
	scrapers := map[string]endpoint.Scraper{"scheduler": cluster.NewScraper("http://"+debug, ""), "aggregator": cluster.NewScraper("http://"+metrics, "")}
	cluster.WaitMetric(t, scrapers["scheduler"], `spazio_nodes{state="fresh"}`, float64(len(machines)))
	cluster.WaitMetric(t, scrapers["aggregator"], "spazio_aggregator_ready", 1)
	node := machines[0].Name()
	tokens, pushToken := tokensOf(t, "spazio-scheduler", agentPods[node], 2*agents), tokensOf(t, "spazio-aggregator", agentPods[node], 1)[0]

	log, sequence := cluster.Watch(t, client), uint64(0)
	batch := cluster.Batch{Prefix: "before", Pods: pods, Startup: 20 * time.Millisecond, Work: 100 * time.Millisecond}
	// serve admits honest agents and pushes a model for each tenth, while it watches the memory.
	serve := func(tokens []string) (took []time.Duration, most map[string]float64) {
		most = map[string]float64{}
		for i, token := range tokens {
			took = append(took, admitted(t, signals, trust, token))
			if i%10 != 0 {
				continue
			}
			sequence++
			connection := tlsFrom(t, models, honestAddress, trust)
			if err := sayModel(withToken(t.Context(), pushToken), connection, node, sequence, 0); err != nil {
				t.Errorf("an honest model was not accepted: %v", err)
			}
			connection.Close()
			for name, s := range scrapers {
				most[name] = max(most[name], memory(t, s))
			}
		}
		slices.Sort(took)
		return took, most
	}
	cluster.Submit(t, client, batch)
	log.WaitSucceeded(t, pods+len(machines)) // the agents' pods included
	quiet, before := serve(tokens[:agents])

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(read(t, server.CAFile)))
	var attackers []*attacker
	for target, method := range map[string]string{signals: spaziov1.SignalService_Publish_FullMethodName, models: spaziov1.ModelService_Push_FullMethodName} {
		attackers = append(attackers,
			&attacker{calls: calls, each: 100, size: 60 << 10, frame: 16 << 10, from: attackerAddress, method: method, target: target, tls: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}},
			&attacker{calls: idle, each: 100, size: 1, frame: 5, from: attackerAddress, method: method, target: target, tls: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	var shown atomic.Int64
	var forging sync.WaitGroup
	accepted := make(chan []string, 1)
	forging.Go(func() { forger(t, ctx, signals, trust, tokens[0], &shown) })
	go func() { accepted <- inventNames(t, models, trust, pushToken, names) }()
	for _, a := range attackers {
		a.begin(t)
	}
	batch.Prefix = "during"
	cluster.Submit(t, client, batch)
	log.WaitSucceeded(t, 2*pods+len(machines))
	besieged, most := serve(tokens[agents:])
	if names := <-accepted; len(names) > 0 {
		t.Errorf("got %d accepted names, such as %s", len(names), names[0])
	}
	cancel()
	forging.Wait()
	lasted := time.Since(began)
	open := 0
	for _, a := range attackers {
		for _, i := range a.connections {
			open += i.Open()
		}
		a.end()
	}
	t.Logf("flood of %v: %d calls still open, %.0f tokens a second", lasted, open, float64(shown.Load())/lasted.Seconds())
	t.Logf("admission of %d agents: p50 %v, p99 %v; in the flood p50 %v, p99 %v", agents, quiet[agents/2], quiet[agents*99/100], besieged[agents/2], besieged[agents*99/100])
	for name, bytes := range most {
		grown := bytes - before[name]
		t.Logf("%s: %.1f MiB, in the flood %.1f MiB more", name, before[name]/(1<<20), grown/(1<<20))
		if grown > mostGrowth {
			t.Errorf("the %s grew by %.0f MiB", name, grown/(1<<20))
		}
	}
	cluster.CheckHeld(t, machines)
	for pod, b := range log.Bindings() {
		if !slices.ContainsFunc(machines, func(m *cluster.PlaceNode) bool { return m.Name() == b.Node }) {
			t.Errorf("got pod %s bound to %s", pod, b.Node)
		}
	}
	cluster.WaitMetric(t, scrapers["aggregator"], "spazio_aggregator_nodes", 1)
	scheduler.Interrupt(t)
	aggregator.Interrupt(t)
}
