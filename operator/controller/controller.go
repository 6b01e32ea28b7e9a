package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/operator/room"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Options say how the controllers run. The zero value of a field is its default.
type Options struct {
	// Namespaces are those whose objects are followed, as the manager's Cache has it; none
	// is all.
	Namespaces []string
	// PlaceholderImage is what a placeholder runs: it must do nothing, as a user that is not root, until
	// it gets a signal. The default is Kubernetes' pause image, which most nodes hold.
	PlaceholderImage string
	// Rooms is the nodes' measured room, for Testbeds whose slotsPerNode is auto; without
	// one their slots stay as they are.
	Rooms room.Source
	// Registerer gets the metrics; nil registers none.
	Registerer prometheus.Registerer
	// Logger gets what is done and fails; nil logs nothing.
	Logger *slog.Logger
}

// DefaultPlaceholderImage is what a placeholder runs by default.
const DefaultPlaceholderImage = "registry.k8s.io/pause:3.10"

// placeholderWorkers is how many placeholders are created and deleted at once.
const placeholderWorkers = 16

// Validate returns a *field.Error for the first field that is out of range.
func (o Options) Validate() error {
	for i, name := range o.Namespaces {
		if name == "" || slices.Contains(o.Namespaces[:i], name) {
			return refuse("Namespaces", fmt.Sprintf("%q", name), "a namespace, named once")
		}
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.PlaceholderImage = cmp.Or(o.PlaceholderImage, DefaultPlaceholderImage)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Scheme has the objects that the controllers read and write.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(s), clientgoscheme.AddToScheme(s)); err != nil {
		return nil, err
	}
	return s, nil
}

// Add adds the controllers to a manager that has the Scheme and the Cache. They run
// while the manager leads.
func Add(mgr manager.Manager, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	o = o.withDefaults()
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return err
	}
	if err := addIndexes(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	for _, c := range []struct {
		name string
		add  func(manager.Manager, Options, *metrics) error
	}{{"testbed", addTestbed}, {"batchjob", addBatchJob}, {"scheduling", addScheduling}} {
		if err := c.add(mgr, o, m); err != nil {
			return fmt.Errorf("controller %s: %w", c.name, err)
		}
	}
	return nil
}

// inSlots reports whether the pod is a placeholder or a job's pod to run in a slot.
func inSlots(p *corev1.Pod) bool {
	return p.Labels[v1alpha1.LabelRole] == v1alpha1.RoleSlot || isPlaceholder(p)
}

// isPlaceholder reports whether the pod has the name that the controller gives the
// placeholder of its slot. A pod that has the label alone is another author's: a slot has
// one placeholder, so whoever could take its name would hold no more than the slot does.
func isPlaceholder(p metav1.Object) bool {
	if p.GetLabels()[v1alpha1.LabelRole] != v1alpha1.RolePlaceholder {
		return false
	}
	id, err := slot.ParseID(p.GetAnnotations()[v1alpha1.AnnotationSlot])
	return err == nil && p.GetName() == slot.PlaceholderName(p.GetLabels()[v1alpha1.LabelTestbedUID], id)
}

// errInvalid is what every field.Error of this package wraps.
var errInvalid = errors.New("invalid configuration or input")

// refuse makes a field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "controller", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", errInvalid, want)}
}
