package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

const (
	labelRole      = v1alpha1.LabelRole
	roleGhost      = v1alpha1.RoleGhost
	annotationSlot = v1alpha1.AnnotationSlot

	namespace = metav1.NamespaceDefault
	nodeLabel = "slots"
	// operatorUser is who spazio-testbed is to the API server.
	operatorUser = "spazio-testbed"
	// parallel is how many requests this program has under way.
	parallel = 32
)

// cluster is a control plane with nodes, what watches it, and our two programs.
type cluster struct {
	plane    *embedded.ControlPlane
	client   kubernetes.Interface
	objects  dynamic.Interface
	lives    *lives
	writes   atomic.Int64 // of spazio-testbed
	requests requests
	programs []*started // those that run
	dir      string
	progress io.Writer
	o        options
}

// startCluster is to be closed, an error or not.
func startCluster(ctx context.Context, o options, progress io.Writer) (c *cluster, err error) {
	c = &cluster{o: o, progress: progress}
	if c.dir, err = os.MkdirTemp("", "spazio-testbedperf-"); err != nil {
		return c, err
	}
	fmt.Fprintln(progress, "starting the control plane")
	if c.plane, err = embedded.Start(ctx, embedded.Config{Audit: c.audit}); err != nil {
		return c, err
	}
	if c.client, err = kubernetes.NewForConfig(c.plane.RESTConfig()); err != nil {
		return c, err
	}
	plain := c.plane.RESTConfig()
	plain.ContentType, plain.AcceptContentTypes = "", ""
	if c.objects, err = dynamic.NewForConfig(plain); err != nil {
		return c, err
	}
	if err := c.prepare(ctx); err != nil {
		return c, err
	}
	c.lives, err = follow(ctx, c.client)
	return c, err
}

func (c *cluster) close() error {
	err := os.RemoveAll(c.dir)
	if c.plane != nil {
		if e := c.plane.Close(); e != nil {
			err = e
		}
	}
	return err
}

// audit counts requests, and what spazio-testbed writes.
func (c *cluster) audit(e auditv1.Event) {
	if e.Stage != auditv1.StageResponseComplete {
		return
	}
	c.requests.note(&e)
	if e.User.Username != operatorUser {
		return
	}
	switch e.Verb {
	case "get", "list", "watch":
	default:
		c.writes.Add(1)
	}
}

// prepare makes the kinds, the classes and the nodes.
func (c *cluster) prepare(ctx context.Context) error {
	for _, text := range v1alpha1.CRDs() {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal(text, &o.Object); err != nil {
			return err
		}
		crds := c.objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
		if _, err := crds.Create(ctx, &o, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, name := range []string{v1alpha1.PriorityClassGhost, v1alpha1.PriorityClassSlot} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 1000, PreemptionPolicy: new(corev1.PreemptNever)}
		if _, err := c.client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.progress, "making %d nodes\n", c.o.nodes)
	// Half of a node is for slots, the other half for what the default profile places.
	return inParallel(ctx, c.o.nodes, func(i int) error {
		return simnode.Register(ctx, c.client, simnode.NodeSpec{
			Name: fmt.Sprintf("node-%04d", i), Cores: 2 * c.o.slots, Memory: float64(2*c.o.slots+1) * (1 << 30),
			Labels: map[string]string{nodeLabel: fmt.Sprint(i)},
		})
	})
}

// inParallel calls f with 0 to n−1, and returns the first error.
func inParallel(ctx context.Context, n int, f func(i int) error) error {
	var group sync.WaitGroup
	var next atomic.Int64
	failed := make(chan error, parallel)
	for range parallel {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return ctx.Err()
	}
}

// resource leads to the objects of one of test beds' kinds.
func (c *cluster) resource(name string) dynamic.ResourceInterface {
	return c.objects.Resource(v1alpha1.GroupVersion.WithResource(name)).Namespace(namespace)
}

// apply makes an object of one of test beds' kinds, and reads it as it is then.
func (c *cluster) apply(ctx context.Context, resource, kind string, object metav1.Object) error {
	o, err := contentOf(kind, object)
	if err != nil {
		return err
	}
	made, err := c.resource(resource).Create(ctx, o, metav1.CreateOptions{})
	// A kind that was just made is not served at once.
	for apierrors.IsNotFound(err) {
		if err := program.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		made, err = c.resource(resource).Create(ctx, o, metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	object.SetUID(made.GetUID())
	object.SetResourceVersion(made.GetResourceVersion())
	// A status without a state is empty counts alone, and the operator's to write.
	if state, _, _ := unstructured.NestedString(o.Object, "status", "state"); state == "" {
		return nil
	}
	return c.writeStatus(ctx, resource, kind, object)
}

// contentOf is an object as requests have it.
func contentOf(kind string, object metav1.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	return o, nil
}

// writeStatus writes an object's status, and notes its version since.
func (c *cluster) writeStatus(ctx context.Context, resource, kind string, object metav1.Object) error {
	o, err := contentOf(kind, object)
	if err != nil {
		return err
	}
	written, err := c.resource(resource).UpdateStatus(ctx, o, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	object.SetResourceVersion(written.GetResourceVersion())
	return nil
}

// started is one of our programs.
type started struct {
	name    string
	process *exec.Cmd
	log     *os.File
}

// run starts one of our programs as some user.
func (c *cluster) run(ctx context.Context, name, path, user string, arguments ...string) (s *started, err error) {
	if path == "" {
		if path, err = program.Build(ctx, name, c.dir, c.progress); err != nil {
			return nil, err
		}
	}
	config, err := c.plane.UserConfig(user)
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(c.dir, name+".kubeconfig")
	if err := embedded.WriteKubeconfig(kubeconfig, config); err != nil {
		return nil, err
	}
	arguments = slices.Clone(arguments)
	for i := range arguments {
		arguments[i] = strings.ReplaceAll(arguments[i], "KUBECONFIG", kubeconfig)
	}
	s = &started{name: name}
	if s.log, err = os.Create(filepath.Join(c.dir, name+".log")); err != nil {
		return nil, err
	}
	s.process = exec.CommandContext(ctx, path, arguments...)
	s.process.Stdout, s.process.Stderr = s.log, s.log
	s.process.Cancel = func() error { return s.process.Process.Signal(syscall.SIGTERM) }
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	c.programs = append(c.programs, s)
	return s, nil
}

// stop ends the program, and says how it fared if that was not well.
func (c *cluster) stop(s *started) error {
	c.programs = slices.DeleteFunc(c.programs, func(other *started) bool { return other == s })
	_ = s.process.Process.Signal(syscall.SIGTERM)
	err := s.process.Wait()
	text, _ := os.ReadFile(s.log.Name())
	_ = s.log.Close()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", s.process.Path, err, text[max(len(text)-2000, 0):])
	}
	return nil
}
