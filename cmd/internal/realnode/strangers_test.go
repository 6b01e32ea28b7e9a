//go:build realnode && linux

package realnode

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/svd"
)

// A foreign pod on the node can report for no node, neither its own nor another, and can read nothing:
// neither without a token, nor with the tokens that the cluster gives it, under an account named like
// the agents'.
func TestIntruders(t *testing.T) {
	install(t)
	in := intrude(t, "spazio-agent")
	for _, door := range doors(t) {
		for _, attack := range []struct {
			name, token string
			want        codes.Code
		}{
			{"without a token", "", codes.Unauthenticated},
			{"with its token", in.secret(t, door.audience), codes.PermissionDenied},
			{"with its token for the other", in.secret(t, door.opposite), codes.Unauthenticated},
			{"with its token for the API", in.secret(t, "api"), codes.Unauthenticated},
		} {
			for _, posed := range []string{nodeName, "placeholder"} {
				t.Run(fmt.Sprintf("%s %s as %s", door.name, attack.name, posed), func(t *testing.T) {
					before := door.refused(t)
					err := door.say(in.with(t, attack.token), in.connect(t, door.address), posed)
					if status.Code(err) != attack.want {
						t.Errorf("%v, want %v", err, attack.want)
					}
					eventually(t, "it is counted", func(context.Context) error {
						if after := door.refused(t); after <= before {
							return fmt.Errorf("%v refused, as before", after)
						}
						return nil
					})
				})
			}
		}
	}
	t.Run("reads", func(t *testing.T) { readsNothing(t, in) })
	// Legitimate callers were never refused.
	eventually(t, "only the node's reports count", func(context.Context) error {
		s, err := top(t)
		if err == nil && (len(s.Nodes) != 1 || s.Nodes[0].Node != nodeName || s.Nodes[0].Signal != "fresh") {
			err = fmt.Errorf("nodes %+v", s.Nodes)
		}
		return err
	})
}

// readsNothing tries every port of our pods, and our objects in the API.
func readsNothing(t *testing.T, in *intruder) {
	for _, namespace := range []string{deploy.SystemNamespace, deploy.AgentNamespace} {
		pods, err := node.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods.Items {
			for _, port := range []int{9691, 9693, 9694} { // debug data are served on the pods' own loopback only
				address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port))
				if c, err := in.dial(t.Context(), address); err == nil {
					c.Close()
					t.Errorf("%s of %s accepts connections", address, pod.Name)
				}
			}
			if !strings.HasPrefix(pod.Name, "spazio-scheduler") {
				continue
			}
			for _, token := range []string{"", in.secret(t, "api")} {
				for _, path := range []string{"/metrics", "/debug/spazio", "/configz"} {
					if code := in.ask(t, http.MethodGet, "https://"+net.JoinHostPort(pod.Status.PodIP, "10259")+path, token); code != http.StatusForbidden && code != http.StatusUnauthorized && code != http.StatusNotFound {
						t.Errorf("%s of %s answered %d", path, pod.Name, code)
					}
				}
			}
		}
	}
	server := "https://" + netip.AddrPortFrom(address, apiPort).String()
	for _, path := range []string{
		"/api/v1/namespaces/spazio-system/secrets/spazio-ca", "/api/v1/namespaces/spazio-system/configmaps",
		"/api/v1/namespaces/spazio-agent/pods", "/apis/coordination.k8s.io/v1/namespaces/spazio-system/leases/spazio-scheduler",
		"/api/v1/nodes",
	} {
		if code := in.ask(t, http.MethodGet, server+path, in.secret(t, "api")); code != http.StatusForbidden {
			t.Errorf("%s answered %d", path, code)
		}
	}
	// The administrators' way.
	path := "/api/v1/namespaces/spazio-system/pods/" + leader(t) + "/portforward?ports=9694"
	if code := in.ask(t, http.MethodPost, server+path, in.secret(t, "api")); code != http.StatusForbidden {
		t.Errorf("%s answered %d", path, code)
	}
	// The exchange between aggregators.
	for _, d := range doors(t) {
		if d.name != "the aggregator" {
			continue
		}
		for _, token := range []string{"", in.secret(t, d.audience)} {
			if err := changes(in.with(t, token), in.connect(t, d.address)); status.Code(err) != codes.Unauthenticated {
				t.Errorf("models of all nodes: got %v", err)
			}
		}
	}
}

// A door is one of our servers as an intruder reaches it.
type door struct {
	name, address, audience, opposite string
	// say reports for a node as its agent would.
	say func(context.Context, *grpc.ClientConn, string) error
	// refused returns how many callers the server has refused so far.
	refused func(*testing.T) float64
}

// doors returns the leader's door and one aggregator's.
func doors(t *testing.T) []door {
	t.Helper()
	leading := leader(t)
	aggregators, err := node.client.CoreV1().Pods(deploy.SystemNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=spazio-aggregator"})
	if err != nil || len(aggregators.Items) == 0 {
		t.Fatalf("%d aggregators, %v", len(aggregators.Items), err)
	}
	aggregator := aggregators.Items[0]
	scheduler, err := node.client.CoreV1().Pods(deploy.SystemNamespace).Get(t.Context(), leading, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	counter := func(pod string, port int) func(*testing.T) float64 {
		return func(t *testing.T) float64 {
			const series = `spazio_identities_total{result="refused"}`
			metrics := metricsOf(t, deploy.SystemNamespace, pod, port)
			if !strings.Contains(metrics, series) { // none was refused so far
				return 0
			}
			return value(t, metrics, series)
		}
	}
	return []door{
		{"the scheduler", net.JoinHostPort(scheduler.Status.PodIP, "9690"), "spazio-scheduler", "spazio-aggregator", publishes, counter(leading, 9694)},
		{"the aggregator", net.JoinHostPort(aggregator.Status.PodIP, "9692"), "spazio-aggregator", "spazio-scheduler", pushes, counter(aggregator.Name, 9693)},
	}
}

func publishes(ctx context.Context, c *grpc.ClientConn, name string) error {
	stream, err := spaziov1.NewSignalServiceClient(c).Publish(ctx)
	if err != nil {
		return err
	}
	report := agent.Report{Node: name, Incarnation: 1 << 40, Sequence: 1 << 40, SampledAt: time.Now(), Schema: "placeholder", Avail: 1000, K: 1000, Limiting: "cpu"}
	if err := errors.Join(stream.Send(api.FromReport(report)), stream.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for {
		if _, err := stream.Recv(); err != nil {
			return err
		}
	}
}

func pushes(ctx context.Context, c *grpc.ClientConn, name string) error {
	model, err := svd.Update(svd.Model{}, [][]float64{{.5, .2}, {.4, .1}}, svd.Options{})
	if err != nil {
		return err
	}
	_, err = spaziov1.NewModelServiceClient(c).Push(ctx, &spaziov1.PushRequest{Local: api.FromLocal(agent.Local{
		Node: name, Incarnation: 1 << 40, Sequence: 1, Schema: "placeholder", Model: model.State(),
	})})
	return err
}

// changes requests the models of all nodes, as another aggregator does.
func changes(ctx context.Context, c *grpc.ClientConn) error {
	stream, err := spaziov1.NewPeerServiceClient(c).Changes(ctx, &spaziov1.ChangesRequest{Replica: 1})
	if err == nil {
		_, err = stream.Recv()
	}
	return err
}

// An intruder is a pod in a namespace of its own, and the requests made from within.
type intruder struct{ pid int }

// intrude runs an intruder under an account of the given name until the test ends.
func intrude(t *testing.T, account string) *intruder {
	t.Helper()
	const name = "intruder"
	core := node.client.CoreV1()
	if _, err := core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := core.Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	if _, err := core.ServiceAccounts(name).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const sleep = "-sleep=1h0m7s" // identifies its process
	pod := worker(name, defaults, sleep)
	pod.Namespace, pod.Spec.ServiceAccountName = name, account
	tokens := &corev1.ProjectedVolumeSource{}
	for audience, path := range map[string]string{"spazio-scheduler": "spazio-scheduler", "spazio-aggregator": "spazio-aggregator", "": "api"} {
		tokens.Sources = append(tokens.Sources, corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: audience, Path: path}})
	}
	pod.Spec.Volumes = []corev1.Volume{{Name: "tokens", VolumeSource: corev1.VolumeSource{Projected: tokens}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "tokens", MountPath: "/tokens"}}
	create(t, pod)
	in := &intruder{}
	eventually(t, "the intruder runs", func(context.Context) (err error) {
		in.pid, err = processWith(sleep)
		return err
	})
	return in
}

// processWith finds a process by one of its arguments.
func processWith(argument string) (pid int, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if words := bytes.Split(text, []byte{0}); err == nil && len(words) > 1 && string(words[1]) == argument {
			return strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	return 0, fmt.Errorf("no process with %s", argument)
}

// secret returns a token that the kubelet gave to the pod.
func (in *intruder) secret(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/root/tokens/%s", in.pid, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// with returns a context whose calls carry a token, unless it is empty.
func (in *intruder) with(t *testing.T, token string) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), readyTime)
	t.Cleanup(cancel)
	if token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// anyone accepts every server: an intruder does not verify it.
var anyone = &tls.Config{InsecureSkipVerify: true}

// connect returns a connection from within the pod.
func (in *intruder) connect(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(credentials.NewTLS(anyone)), grpc.WithContextDialer(in.dial))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// dial opens a connection in the pod's network namespace.
func (in *intruder) dial(ctx context.Context, address string) (conn net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread ends with the goroutine, since it is never unlocked: no other goroutine may run in
		// that namespace.
		runtime.LockOSThread()
		var space *os.File
		if space, err = os.Open(fmt.Sprintf("/proc/%d/ns/net", in.pid)); err != nil {
			return
		}
		defer space.Close()
		if err = unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
			return
		}
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}()
	<-done
	return conn, err
}

// ask returns the status code of an answer.
func (in *intruder) ask(t *testing.T, method, url, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{
		TLSClientConfig: anyone, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return in.dial(ctx, address) },
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// leads returns the pod of the leading scheduler, or why none leads.
func leads(ctx context.Context) (string, error) {
	return podforward.Leader("spazio-scheduler")(ctx, node.client, deploy.SystemNamespace)
}
