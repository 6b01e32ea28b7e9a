package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// Errors of a Client.
var (
	// ErrNotInstalled means that the cluster does not know test beds.
	ErrNotInstalled = errors.New("the cluster has no test beds: install the component testbed")
	// ErrNotFound means that there is no such Testbed; the error names those there are.
	ErrNotFound = errors.New("there is no such Testbed")
)

// client reads test beds. It is safe for concurrent use.
type client struct {
	beds dynamic.NamespaceableResourceInterface
	kube kubernetes.Interface
}

// NewClient prepares a client; the API server is not asked anything yet.
func NewClient(config *rest.Config) (*client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // it asks one question after another
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	config.ContentType = "" // what is not known by type has no protobuf
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	return &client{untyped.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Testbeds)), kube}, nil
}

// testbed reads a Testbed.
func (c *client) testbed(ctx context.Context, namespace, name string) (*v1alpha1.Testbed, error) {
	o, err := c.beds.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, c.missing(ctx, namespace, name)
	}
	if err != nil {
		return nil, fmt.Errorf("view: Testbed %s in namespace %s: %w", name, namespace, err)
	}
	t := &v1alpha1.Testbed{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, t); err != nil {
		return nil, fmt.Errorf("view: Testbed %s in namespace %s: %w", name, namespace, err)
	}
	return t, nil
}

// missing is the error of a Testbed that is not there; it names those there are.
func (c *client) missing(ctx context.Context, namespace, name string) error {
	list, err := c.beds.List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		list, err = c.beds.Namespace(namespace).List(ctx, metav1.ListOptions{})
	}
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("view: %w", ErrNotInstalled)
	}
	text := fmt.Sprintf("%s in namespace %s", name, namespace)
	if err != nil || len(list.Items) == 0 {
		return fmt.Errorf("view: %w: %s", ErrNotFound, text)
	}
	const most = 10
	var names []string
	for _, o := range list.Items {
		names = append(names, o.GetNamespace()+"/"+o.GetName())
	}
	slices.Sort(names)
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return fmt.Errorf("view: %w: %s; there are %s", ErrNotFound, text, strings.Join(names, ", "))
}

// maxReads bounds how often a Testbed is read anew until it was the same before and after
// its pods were read.
const maxReads = 5

// Snapshot reads a Testbed and the pods in its slots as they are at one time: the Testbed does
// not change while the pods are read. Of one that changes all the time it is the last reading.
func (c *client) Snapshot(ctx context.Context, namespace, name string) (*v1alpha1.Testbed, []corev1.Pod, error) {
	t, err := c.testbed(ctx, namespace, name)
	for reads := 1; err == nil; reads++ {
		pods, err := c.pods(ctx, t)
		if err != nil || reads == maxReads {
			return t, pods, err
		}
		after, err := c.testbed(ctx, namespace, name)
		if err != nil {
			return nil, nil, err
		}
		if after.UID == t.UID && after.ResourceVersion == t.ResourceVersion {
			return t, pods, nil
		}
		t = after
	}
	return nil, nil, err
}

// pageSize is how many pods are read at once.
const pageSize = 500

// pods reads the pods in a Testbed's slots: of all namespaces or, where that is not
// allowed, of the Testbed's and of those of the jobs that have slots.
func (c *client) pods(ctx context.Context, t *v1alpha1.Testbed) ([]corev1.Pod, error) {
	pods, err := c.podsIn(ctx, t, metav1.NamespaceAll)
	if !apierrors.IsForbidden(err) {
		return pods, err
	}
	pods = nil
	for _, namespace := range namespaces(t) {
		more, err := c.podsIn(ctx, t, namespace)
		if err != nil {
			return nil, err
		}
		pods = append(pods, more...)
	}
	return pods, nil
}

func (c *client) podsIn(ctx context.Context, t *v1alpha1.Testbed, namespace string) ([]corev1.Pod, error) {
	var pods []corev1.Pod
	options := metav1.ListOptions{LabelSelector: v1alpha1.LabelTestbedUID + "=" + string(t.UID), Limit: pageSize}
	for {
		list, err := c.kube.CoreV1().Pods(namespace).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("view: list pods of namespace %s: %w", cmp.Or(namespace, "*"), err)
		}
		pods = append(pods, list.Items...)
		if options.Continue = list.Continue; options.Continue == "" {
			return pods, nil
		}
	}
}

// namespaces are those in which pods may be that are in slots.
func namespaces(t *v1alpha1.Testbed) []string {
	all := []string{t.Namespace}
	for i := range t.Status.Claims {
		namespace, _, _ := strings.Cut(t.Status.Claims[i].BatchJob, "/")
		all = append(all, namespace)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
