package embedded_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

func TestStartRefuses(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	port := busy.Addr().(*net.TCPAddr).Port
	for name, c := range map[string]struct {
		config embedded.Config
		is     func(error) bool
	}{
		"port out of range": {embedded.Config{Dir: dir, APIPort: 65536}, func(err error) bool {
			var which *field.Error
			return errors.As(err, &which) && which.Field == "APIPort" && errors.Is(err, embedded.ErrInvalid)
		}},
		"any address": {embedded.Config{Dir: dir, Address: netip.IPv4Unspecified()}, func(err error) bool {
			var which *field.Error
			return errors.As(err, &which) && which.Field == "Address" && errors.Is(err, embedded.ErrInvalid)
		}},
		"another's address": {embedded.Config{Dir: dir, Address: netip.MustParseAddr("203.0.113.1")}, func(err error) bool { return errors.Is(err, syscall.EADDRNOTAVAIL) }},
		"busy port":         {embedded.Config{Dir: dir, APIPort: port}, func(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }},
		"path too long for a socket": {embedded.Config{Dir: filepath.Join(dir, strings.Repeat("x", 100))}, func(err error) bool {
			var which *field.Error
			return errors.As(err, &which) && which.Field == "Dir" && errors.Is(err, embedded.ErrInvalid)
		}},
		"missing directory":     {embedded.Config{Dir: filepath.Join(dir, "none")}, func(err error) bool { return errors.Is(err, os.ErrNotExist) }},
		"file for a directory":  {embedded.Config{Dir: file}, func(err error) bool { return errors.Is(err, syscall.ENOTDIR) }},
		"context ended already": {embedded.Config{Dir: dir}, func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			if name == "context ended already" {
				cancel()
			}
			defer cancel()
			got, err := embedded.Start(ctx, c.config)
			if got != nil || !c.is(err) {
				t.Fatalf("Start = %v, %v", got, err)
			}
		})
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("got remaining files %v, %v", left, err)
	}
}

func TestControlPlane(t *testing.T) {
	if !alone(t) {
		return
	}
	dir := t.TempDir()
	begin := time.Now()
	c, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %v", time.Since(begin))
	defer c.Close()

	kubeconfig := filepath.Join(t.TempDir(), "missing", "kubeconfig")
	if err := embedded.WriteKubeconfig(kubeconfig, c.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	fromFile, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("administrator", func(t *testing.T) { bindOne(t, c.RESTConfig(), "a") })
	t.Run("kubeconfig", func(t *testing.T) { bindOne(t, fromFile, "b") })
	t.Run("version", func(t *testing.T) {
		v, err := kubernetes.NewForConfigOrDie(fromFile).Discovery().ServerVersion()
		if err != nil {
			t.Fatal(err)
		}
		want := utilversion.MustParseSemantic(required(t))
		if got, err := utilversion.ParseSemantic(v.GitVersion); err != nil || got.Major() != want.Major() || got.Minor() != want.Minor() {
			t.Errorf("got %s, %v, want one of %s", v.GitVersion, err, want)
		}
	})
	t.Run("no credential", func(t *testing.T) {
		_, err := kubernetes.NewForConfigOrDie(rest.AnonymousClientConfig(fromFile)).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if !apierrors.IsUnauthorized(err) {
			t.Errorf("got error %v, want Unauthorized", err)
		}
	})
	t.Run("second start", func(t *testing.T) {
		if _, err := embedded.Start(t.Context(), embedded.Config{Dir: dir}); !errors.Is(err, embedded.ErrStarted) {
			t.Errorf("got error %v, want ErrStarted", err)
		}
	})
	t.Run("close", func(t *testing.T) { checkClosed(t, c) })
}

// bindOne creates a node and a pod, binds the pod to the node and reads it back.
func bindOne(t *testing.T, config *rest.Config, name string) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, core := t.Context(), client.CoreV1()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if node, err = core.Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(node.Spec.Taints) > 0 {
		t.Errorf("got node with taints %v that no controller will remove", node.Spec.Taints)
	}
	pods := core.Pods(metav1.NamespaceDefault)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name}, Target: corev1.ObjectReference{Kind: "Node", Name: name}}
	if err := pods.Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if pod, err = pods.Get(ctx, name, metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if pod.Spec.NodeName != name {
		t.Errorf("got pod on %q, want %q", pod.Spec.NodeName, name)
	}
}

func checkClosed(t *testing.T, c *embedded.ControlPlane) {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	// An open watch of a client must not delay Close.
	watch, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if err := c.Err(); err != nil {
		t.Error(err)
	}
	begin := time.Now()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("closed after %v", time.Since(begin))
	if err := c.Close(); err != nil {
		t.Errorf("second Close: got error %v", err)
	}
	if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the API answers after Close")
	}
	if _, err := embedded.Start(t.Context(), embedded.Config{}); !errors.Is(err, embedded.ErrStarted) {
		t.Errorf("start after the end: got error %v, want ErrStarted", err)
	}
}
