package attacks

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/plugin"
)

// agentAccount is the service account of the agents.
const agentAccount = "spazio-agent"

// tokenFor returns the file of a token as a kubelet requests it: of a service account for an audience
// and, unless it is nil, bound to a pod.
func tokenFor(t *testing.T, client kubernetes.Interface, account, audience string, pod *corev1.Pod) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
	if pod != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}
	}
	got, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).CreateToken(t.Context(), account, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(got.Status.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// accounts creates service accounts that are deleted with the test.
func accounts(t *testing.T, client kubernetes.Interface, names ...string) {
	t.Helper()
	api := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault)
	for _, name := range names {
		if _, err := api.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := api.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
				t.Errorf("delete service account %s: %v", name, err)
			}
		})
	}
}

// agentPod creates the pod of a node's agent, as a DaemonSet does.
func agentPod(t *testing.T, client kubernetes.Interface, account, node string) *corev1.Pod {
	t.Helper()
	pod, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: account + "-" + node},
		Spec: corev1.PodSpec{
			NodeName: node, ServiceAccountName: account,
			Containers: []corev1.Container{{Name: "main", Image: "spazio.invalid/none"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// Only a node's own agent reports for the node, with a token that the API server issued to its pod.
func TestOnlyItsOwnAgentReportsOnANode(t *testing.T) {
	client, kubeconfig := cluster.Connect(t)
	identity := transporttest.SelfSigned(t, "127.0.0.1")
	hub, _ := cluster.StartScheduler(t, kubeconfig, plugin.SpazioArgs{
		TLSCertFile: identity.CertFile, TLSKeyFile: identity.KeyFile,
		AgentServiceAccount: metav1.NamespaceDefault + "/" + agentAccount,
	}, plugin.HubOptions{})
	address, trust := hub.Addr().String(), transport.Config{CAFile: identity.CAFile}
	const mine, other = "node-mine", "node-other"
	for _, node := range []string{mine, other} {
		cluster.Register(t, client, node)
	}
	accounts(t, client, agentAccount, "foreign")
	t.Cleanup(func() { cluster.Remove(t, client) })
	pod, foreignPod := agentPod(t, client, agentAccount, mine), agentPod(t, client, "foreign", other)
	cluster.WaitSignals(t, hub, "missing", 2)

	token := tokenFor(t, client, agentAccount, "spazio-scheduler", pod)
	publishAs(t, address, trust, token, mine)
	cluster.WaitSignals(t, hub, "fresh", 1)

	for _, test := range []struct {
		name, token string
		want        codes.Code
	}{
		{"of another node's agent", token, codes.PermissionDenied},
		{"for another audience", tokenFor(t, client, agentAccount, "elsewhere", pod), codes.Unauthenticated},
		{"bound to no pod", tokenFor(t, client, agentAccount, "spazio-scheduler", nil), codes.PermissionDenied},
		{"of another account's pod on the node", tokenFor(t, client, "foreign", "spazio-scheduler", foreignPod), codes.PermissionDenied},
		{"of the API server's own audience", tokenFor(t, client, agentAccount, "https://kubernetes.default.svc", pod), codes.Unauthenticated},
	} {
		options, err := transport.DialOptions(address, trust)
		if err != nil {
			t.Fatal(err)
		}
		connection, err := grpc.NewClient(address, append(options, transport.Token(test.token))...)
		if err != nil {
			t.Fatal(err)
		}
		code, err := publishOnce(t.Context(), connection, api.FromReport(honest(other, 1)))
		connection.Close()
		if code != test.want {
			t.Errorf("report with a token %s: got %v (%v), want %v", test.name, code, err, test.want)
		}
	}
	cluster.WaitSignals(t, hub, "missing", 1)
	cluster.WaitSignals(t, hub, "fresh", 1)
}

// honest returns a report of a node with room.
func honest(node string, sequence uint64) agent.Report {
	return agent.Report{
		Node: node, Incarnation: 1, Sequence: sequence, SampledAt: time.Now(), Schema: "e2e", Avail: 4, K: 4, Limiting: "cpu",
		Channels: []agent.ChannelReport{{Name: "cpu", Usage: .1, Capacity: 1, Cost: .2, CostSD: .01}},
	}
}

// publishAs reports for a node as its agent does, until the test's end.
func publishAs(t *testing.T, address string, trust transport.Config, token, node string) {
	t.Helper()
	signals, err := publish.NewSignals(publish.SignalsConfig{Targets: []string{address}, Transport: trust, TokenFile: token})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = signals.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	signals.Send(honest(node, 1), time.Now())
}
