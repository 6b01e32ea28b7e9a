package failures

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/spazio-scheduler/spazio/api/kube/authority"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/plugintest"
)

// stage is the stored state at a time of a rotation: the scheduler's certificate, its key and the bundle.
type stage struct{ certificate, key, bundle []byte }

// stages returns those of a year's change of authority. The days are before the test, so that everything
// that is issued is valid: one authority; the next is trusted; it signs; the first is dropped.
func stages(t *testing.T) (all []stage) {
	t.Helper()
	const namespace, day = "spazio-system", 24 * time.Hour
	called := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	client := fake.NewClientset(&corev1.Secret{ObjectMeta: called("spazio-ca")},
		&corev1.Secret{ObjectMeta: called("scheduler-tls")}, &corev1.ConfigMap{ObjectMeta: called("spazio-trust")}).CoreV1()
	now := time.Now()
	for _, days := range []time.Duration{-400, -61, -30, -29, 0, 8} {
		if _, err := authority.Ensure(t.Context(), client, authority.Config{
			Namespace: namespace, ClusterDomain: "cluster.local", Now: func() time.Time { return now.Add(days * day) },
			Servers: []authority.Server{{Name: "scheduler", Services: []string{"localhost"}}},
		}); err != nil {
			t.Fatal(err)
		}
		secret, err := client.Secrets(namespace).Get(t.Context(), "scheduler-tls", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		trust, err := client.ConfigMaps(namespace).Get(t.Context(), "spazio-trust", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if days != -400 && days != -29 {
			all = append(all, stage{secret.Data["tls.crt"], secret.Data["tls.key"], []byte(trust.Data["ca.crt"])})
		}
	}
	return all
}

// put replaces a file atomically, as a kubelet does.
func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path+"~", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
}

// shown fails the test unless a server presents a certificate.
func shown(t *testing.T, address string, certificate []byte) {
	t.Helper()
	connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	block, _ := pem.Decode(certificate)
	if got := connection.ConnectionState().PeerCertificates[0]; !bytes.Equal(got.Raw, block.Bytes) {
		t.Errorf("got the certificate of %v, by %q", got.NotBefore, got.Issuer.CommonName)
	}
}

// ages records the greatest age of a node's newest report.
type ages struct {
	hub  *plugin.Hub
	mu   sync.Mutex
	most time.Duration
}

func (a *ages) watch(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			for _, s := range a.hub.Snapshot() {
				a.mu.Lock()
				a.most = max(a.most, s.Age)
				a.mu.Unlock()
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	t.Cleanup(func() { cancel(); watching.Wait() })
}

func (a *ages) oldest() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.most
}

// rotate runs a batch while a scheduler's certificate and its agents' bundles are replaced stage by
// stage. Half of the agents are always a stage behind, and each replacement ends all connections. It
// returns the greatest age of a report, as soon as that exceeds the limit.
func rotate(t *testing.T, stages []stage, limit time.Duration) time.Duration {
	const nodes, each = 6, 24
	client, kubeconfig := cluster.Connect(t)
	dir := t.TempDir()
	leaf, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	exchange := func(s stage) {
		put(t, key, s.key)
		put(t, leaf, s.certificate)
	}
	exchange(stages[0])
	var seen plugintest.Reservations
	hub, _ := cluster.StartScheduler(t, kubeconfig, plugin.SpazioArgs{
		TLSCertFile: leaf, TLSKeyFile: key, StalePolicy: "Reject", MaxAge: metav1.Duration{Duration: limit},
	}, plugin.HubOptions{OnReserve: seen.Observe})
	way := newLinkTo(t, hub.Addr().String(), 0)
	_, port, err := net.SplitHostPort(way.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	bundle := func(node string) string { return filepath.Join(dir, node) }
	machines := cluster.NewPlaceNodesWith(t, client, nodes, cluster.Places, func(node string) publish.SignalsConfig {
		put(t, bundle(node), stages[0].bundle)
		return publish.SignalsConfig{Targets: []string{net.JoinHostPort("localhost", port)}, Transport: transport.Config{CAFile: bundle(node)}}
	})
	cluster.WaitSignals(t, hub, "fresh", nodes)
	watched := &ages{hub: hub}
	watched.watch(t)
	// again waits until each node has reported over a new connection.
	again := func(what string) (late bool) {
		way.cut()
		began := time.Now()
		cluster.Eventually(t, what+": all nodes report again", func() (bool, any) {
			fresh := 0
			for _, s := range hub.Snapshot() {
				if s.Signal == "fresh" && s.Age < time.Since(began) {
					fresh++
				}
			}
			late = watched.oldest() > limit
			return fresh == nodes || late, fresh
		})
		return late
	}
	log := cluster.Watch(t, client)
	pods := 0
	for i := 1; i < len(stages); i++ {
		cluster.Submit(t, client, cluster.Batch{Prefix: "batch-" + string(rune('0'+i)), Pods: each, Startup: 50 * time.Millisecond, Work: 200 * time.Millisecond})
		for n, m := range machines {
			put(t, bundle(m.Name()), stages[i-n%2].bundle)
		}
		if again("new bundles") {
			return watched.oldest()
		}
		exchange(stages[i])
		shown(t, hub.Addr().String(), stages[i].certificate)
		if again("a new certificate") {
			return watched.oldest()
		}
		pods += each
		log.WaitSucceeded(t, pods)
	}
	seen.Check(t, pods)
	cluster.CheckHeld(t, machines)
	cluster.CheckNothingLeft(t, client, hub)
	return watched.oldest()
}

// TestRotation: authority and certificate are replaced during batches, and no report becomes stale: no
// decision is based on a stale one, or made without one.
func TestRotation(t *testing.T) {
	const maxAge = time.Minute
	if oldest := rotate(t, stages(t), maxAge); oldest > maxAge {
		t.Errorf("got a report of age %v, want at most %v", oldest, maxAge)
	}
}

// TestRotationNeedsOverlap: without overlap, agents that are behind lose their connection, which
// TestRotation would detect.
func TestRotationNeedsOverlap(t *testing.T) {
	const maxAge = 2 * time.Second
	planned := stages(t)
	first, last := planned[0], planned[len(planned)-1]
	if oldest := rotate(t, []stage{first, last}, maxAge); oldest <= maxAge {
		t.Errorf("got no report older than %v", oldest)
	}
}
