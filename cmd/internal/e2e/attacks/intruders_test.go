package attacks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/svd"
)

// door is a server as an intruder reaches it.
type door struct {
	name, address      string
	audience, opposite string // of its tokens, and of the other server's
	metrics            endpoint.Scraper
	trust              transport.Config
	// say reports for a node as its agent would, padded by so many bytes.
	say func(ctx context.Context, c *grpc.ClientConn, node string, sequence uint64, padding int) error
	// foreign and stale are the counters of messages for another node, and of repeated ones.
	foreign, stale string
}

const refusedIdentities = `spazio_identities_total{result="refused"}`

// connect returns a connection with a token, or without one if it is empty.
func (d *door) connect(t *testing.T, token string) (*grpc.ClientConn, context.Context) {
	t.Helper()
	options, err := transport.DialOptions(d.address, d.trust)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := grpc.NewClient(d.address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	ctx := t.Context()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	return connection, ctx
}

// value reads a counter, which may not exist yet.
func (d *door) value(metric string) float64 {
	v, _ := d.metrics.Value(context.Background(), metric)
	return v
}

// tries sends a message with a token, and fails the test unless the code is as wanted and the counter,
// if given, increased by one.
func (d *door) tries(t *testing.T, attack, token, node string, sequence uint64, padding int, want codes.Code, counter string) {
	t.Helper()
	connection, ctx := d.connect(t, token)
	before := d.value(counter)
	if err := d.say(ctx, connection, node, sequence, padding); status.Code(err) != want {
		t.Errorf("%s, %s: %v, want %v", d.name, attack, err, want)
	}
	if counter != "" {
		cluster.Eventually(t, d.name+", "+attack+": "+counter, func() (bool, any) {
			now := d.value(counter)
			return now == before+1, now - before
		})
	}
}

func sayReport(ctx context.Context, c *grpc.ClientConn, node string, sequence uint64, padding int) error {
	report := api.FromReport(honest(node, sequence))
	report.Schema += strings.Repeat("x", padding)
	_, err := publishOnce(ctx, c, report)
	return err
}

func sayModel(ctx context.Context, c *grpc.ClientConn, node string, sequence uint64, padding int) error {
	model, err := svd.Update(svd.Model{}, [][]float64{{.5, .2}, {.4, .1}}, svd.Options{})
	if err != nil {
		return err
	}
	_, err = spaziov1.NewModelServiceClient(c).Push(ctx, &spaziov1.PushRequest{Local: api.FromLocal(agent.Local{
		Node: node, Incarnation: 1, Sequence: sequence, Schema: "e2e" + strings.Repeat("x", padding), Model: model.State(),
	})})
	return err
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// expired returns a token with an expiry in the past. The API server issues none that lives for less
// than ten minutes, so this one's signature is invalid.
func expired(t *testing.T, token string) string {
	t.Helper()
	parts := strings.Split(token, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	claims["exp"] = time.Now().Add(-time.Minute).Unix()
	if payload, err = json.Marshal(claims); err != nil {
		t.Fatal(err)
	}
	return parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload) + "." + parts[2]
}

// withClients returns a directory of a server's TLS files that takes clients of all those authorities.
func withClients(t *testing.T, server transport.Config, authorities ...string) string {
	t.Helper()
	dir, clients := t.TempDir(), ""
	for _, file := range authorities {
		clients += read(t, file)
	}
	for name, text := range map[string]string{
		"tls.crt": read(t, server.CertFile), "tls.key": read(t, server.KeyFile), "ca.crt": read(t, server.CAFile), "client-ca.crt": clients,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lingers opens a connection, sends the bytes of a handshake one per second or none at all, and returns
// when the server has closed it.
func lingers(address string, dribble bool) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if dribble {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		done := make(chan struct{})
		defer close(done)
		go func() {
			// A record of a handshake of 512 bytes.
			for _, b := range append([]byte{22, 3, 1, 2, 0}, make([]byte, 512)...) {
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
				select {
				case <-done:
					return
				case <-ticker.C:
				}
			}
		}()
	}
	if err := conn.SetReadDeadline(time.Now().Add(cluster.Patience)); err != nil {
		return err
	}
	if n, err := io.Copy(io.Discard, conn); os.IsTimeout(err) {
		return fmt.Errorf("the server keeps the connection; it said %d bytes", n)
	}
	return nil // closed or reset
}

// Both servers refuse each caller with a false identity; its message changes nothing and is counted.
func TestIntruders(t *testing.T) {
	client, kubeconfig := cluster.Connect(t)
	server := transporttest.SelfSigned(t, "127.0.0.1")
	elsewhere := transporttest.SelfSigned(t, "elsewhere.example") // of our authorities, for another name
	foreign := transporttest.SelfSigned(t, "127.0.0.1")           // of another authority
	const mine, other = "node-mine", "node-other"
	for _, node := range []string{mine, other} {
		cluster.Register(t, client, node)
	}
	accounts(t, client, agentAccount, "foreign")
	t.Cleanup(func() { cluster.Remove(t, client) })
	pod, foreignPod := agentPod(t, client, agentAccount, mine), agentPod(t, client, "foreign", other)
	gone := agentPod(t, client, agentAccount, other)

	signals, models, debug, modelDebug := transporttest.Address(t), transporttest.Address(t), transporttest.Address(t), transporttest.Address(t)
	account := metav1.NamespaceDefault + "/" + agentAccount
	scheduler := &cluster.Command{Role: "scheduler", Args: []string{
		"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0", "--debug-listen=" + debug, "--signal-listen=" + signals,
		"--signal-tls-dir=" + filepath.Dir(server.CertFile), "--agent-service-account=" + account,
	}}
	scheduler.Start(t)
	aggregator := &cluster.Command{Role: "aggregator", Args: []string{
		"--kubeconfig=" + kubeconfig, "--listen=" + models, "--debug-listen=" + modelDebug, "--agent-service-account=" + account,
		"--tls-dir=" + withClients(t, server, server.CAFile, elsewhere.CAFile), "--peer=" + models,
	}}
	aggregator.Start(t)
	trust := transport.Config{CAFile: server.CAFile}
	doors := []*door{
		{
			name: "scheduler", address: signals, audience: "spazio-scheduler", opposite: "spazio-aggregator", trust: trust, say: sayReport,
			metrics: cluster.NewScraper("http://"+debug, ""),
			foreign: `spazio_reports_total{result="invalid"}`, stale: `spazio_reports_total{result="outdated"}`,
		},
		{
			name: "aggregator", address: models, audience: "spazio-aggregator", opposite: "spazio-scheduler", trust: trust, say: sayModel,
			metrics: cluster.NewScraper("http://"+modelDebug, ""),
			foreign: `spazio_aggregator_pushes_total{result="foreign"}`, stale: `spazio_aggregator_pushes_total{result="stale"}`,
		},
	}
	cluster.WaitMetric(t, doors[0].metrics, `spazio_nodes{state="missing"}`, 2)
	cluster.WaitMetric(t, doors[1].metrics, "spazio_aggregator_ready", 1)

	pair, err := tls.LoadX509KeyPair(server.CertFile, server.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range doors {
		cluster.WaitMetric(t, d.metrics, `spazio_certificate_not_after_seconds{use="own"}`, float64(pair.Leaf.NotAfter.Unix()))
	}
	var lingering sync.WaitGroup
	for _, d := range doors {
		for _, dribble := range []bool{false, true} {
			lingering.Go(func() {
				if err := lingers(d.address, dribble); err != nil {
					t.Errorf("%s, a handshake that does not end, dribbling %v: %v", d.name, dribble, err)
				}
			})
		}
	}
	stale := map[*door]string{}
	for _, d := range doors {
		stale[d] = read(t, tokenFor(t, client, agentAccount, d.audience, gone))
	}
	now := int64(0)
	if err := client.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), gone.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	for _, d := range doors {
		token := read(t, tokenFor(t, client, agentAccount, d.audience, pod))
		d.tries(t, "its own agent", token, mine, 7, 0, codes.OK, `spazio_identities_total{result="accepted"}`)
		for _, attack := range []struct {
			name, token, node string
			want              codes.Code
		}{
			{"no token", "", mine, codes.Unauthenticated},
			{"expired", expired(t, token), mine, codes.Unauthenticated},
			{"foreign audience", read(t, tokenFor(t, client, agentAccount, "elsewhere", pod)), mine, codes.Unauthenticated},
			{"the other receiver's audience", read(t, tokenFor(t, client, agentAccount, d.opposite, pod)), mine, codes.Unauthenticated},
			{"other account", read(t, tokenFor(t, client, "foreign", d.audience, foreignPod)), other, codes.PermissionDenied},
			{"bound to no pod", read(t, tokenFor(t, client, agentAccount, d.audience, nil)), mine, codes.PermissionDenied},
			{"pod deleted since", stale[d], other, codes.Unauthenticated},
			{"9 KiB token", strings.Repeat("x", 9<<10), mine, codes.Unauthenticated},
		} {
			d.tries(t, attack.name, attack.token, attack.node, 8, 0, attack.want, refusedIdentities)
		}
		d.tries(t, "other node", token, other, 8, 0, codes.PermissionDenied, d.foreign)
		d.tries(t, "257 KiB message", token, mine, 8, 257<<10, codes.ResourceExhausted, "")
		if d.name == "aggregator" { // a replay only counts after the first message was merged
			cluster.WaitMetric(t, d.metrics, "spazio_aggregator_nodes", 1)
		}
		d.tries(t, "replayed sequence", token, mine, 7, 0, codes.OK, d.stale)
		wrong := *d
		wrong.trust = transport.Config{CAFile: foreign.CAFile}
		wrong.tries(t, "wrong CA", token, mine, 8, 0, codes.Unavailable, "")
	}
	intrudeOnPeers(t, doors[1], server, elsewhere, foreign, read(t, tokenFor(t, client, agentAccount, "spazio-aggregator", pod)))
	lingering.Wait()

	cluster.WaitMetric(t, doors[0].metrics, `spazio_nodes{state="missing"}`, 1)
	// Earlier pushes have been merged with it.
	d := doors[1]
	version := d.value("spazio_aggregator_model_version")
	d.tries(t, "its own agent again", read(t, tokenFor(t, client, agentAccount, d.audience, pod)), mine, 9, 0, codes.OK, "")
	cluster.Eventually(t, "the honest push is merged", func() (bool, any) {
		now := d.value("spazio_aggregator_model_version")
		return now > version, now
	})
	if n := d.value("spazio_aggregator_nodes"); n != 1 {
		t.Errorf("got %v nodes at the aggregator, want 1", n)
	}
	scheduler.Interrupt(t)
	aggregator.Interrupt(t)
}

// intrudeOnPeers tries what only another aggregator may do.
func intrudeOnPeers(t *testing.T, d *door, server, elsewhere, foreign transport.Config, token string) {
	t.Helper()
	changes := func(ctx context.Context, c *grpc.ClientConn) error {
		stream, err := spaziov1.NewPeerServiceClient(c).Changes(ctx, &spaziov1.ChangesRequest{Replica: 1})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	with := func(c transport.Config) transport.Config { c.CAFile = server.CAFile; return c }
	for _, attack := range []struct {
		name    string
		trust   transport.Config
		token   string
		call    func(context.Context, *grpc.ClientConn) error
		want    codes.Code
		counter string
	}{
		{"another aggregator at Changes", with(server), "", changes, codes.OK, `spazio_identities_total{result="accepted"}`},
		{"a certificate without our SAN at Changes", with(elsewhere), "", changes, codes.PermissionDenied, refusedIdentities},
		{"an agent at Changes", d.trust, token, changes, codes.Unauthenticated, refusedIdentities},
		{"another aggregator at Push", with(server), "", func(ctx context.Context, c *grpc.ClientConn) error { return sayModel(ctx, c, "node-other", 8, 0) }, codes.Unauthenticated, refusedIdentities},
	} {
		one := *d
		one.trust = attack.trust
		one.say = func(ctx context.Context, c *grpc.ClientConn, _ string, _ uint64, _ int) error {
			return attack.call(ctx, c)
		}
		one.tries(t, attack.name, attack.token, "", 0, 0, attack.want, attack.counter)
	}
	// A client that presents a foreign certificate, although the server requested none of that
	// authority, fails in the handshake.
	pair, err := tls.LoadX509KeyPair(foreign.CertFile, foreign.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(read(t, server.CAFile)))
	connection, err := grpc.NewClient(d.address, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		RootCAs: roots, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil },
	})))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := changes(t.Context(), connection); status.Code(err) != codes.Unavailable {
		t.Errorf("foreign certificate: got %v", err)
	}
}
