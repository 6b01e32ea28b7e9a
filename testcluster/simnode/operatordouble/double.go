package operatordouble

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/field"
)

// ErrInvalid is in every field.Error.
var ErrInvalid = errors.New("invalid configuration or input")

// refuse makes a *field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "operatordouble", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}

// What the operators watch.
var (
	SparkApplications = schema.GroupVersionResource{Group: "sparkoperator.k8s.io", Version: "v1beta2", Resource: "sparkapplications"}
	FlinkDeployments  = schema.GroupVersionResource{Group: "flink.apache.org", Version: "v1beta1", Resource: "flinkdeployments"}
)

// Faults are what goes wrong with an application. The zero value is nothing.
type Faults struct {
	// FailSubmission: no pod is ever made (Spark: SUBMISSION_FAILED, then FAILED; Flink:
	// the lifecycle FAILED).
	FailSubmission bool
	// Fail: the application fails where it would have succeeded.
	Fail bool
	// WebhookOff: executors are made without what the webhook applies.
	WebhookOff bool
	// SkipStates: of the states between the first and the last none is ever written.
	SkipStates bool
}

// Config says where the operators work. Cluster is required; a zero field takes its
// default.
type Config struct {
	// Cluster is the API server, with the credential that the operators use.
	Cluster *rest.Config
	// Client and Custom, if both are set, take Cluster's place: fakes, for instance.
	Client kubernetes.Interface
	Custom dynamic.Interface
	// Kinds are those of SparkApplications and FlinkDeployments that are watched;
	// default both. The API server must serve them.
	Kinds []schema.GroupVersionResource
	// Faults, if set, says what goes wrong with an application. It is called from one
	// goroutine, again and again.
	Faults func(kind schema.GroupVersionResource, application types.NamespacedName) Faults
	// OnError, if set, hears of what could not be done; it is tried again. It is called
	// from one goroutine, never after Close has returned.
	OnError func(error)
}

// Validate returns a *field.Error for the first field out of its range.
func (c Config) Validate() error {
	if c.Cluster == nil && (c.Client == nil || c.Custom == nil) {
		return refuse("Cluster", "nil", "set, or Client and Custom")
	}
	for _, kind := range c.Kinds {
		if kind != SparkApplications && kind != FlinkDeployments {
			return refuse("Kinds", kind, "SparkApplications or FlinkDeployments")
		}
	}
	return nil
}

func (c Config) withDefaults() Config {
	if len(c.Kinds) == 0 {
		c.Kinds = []schema.GroupVersionResource{SparkApplications, FlinkDeployments}
	}
	if c.Faults == nil {
		c.Faults = func(schema.GroupVersionResource, types.NamespacedName) Faults { return Faults{} }
	}
	if c.OnError == nil {
		c.OnError = func(error) {}
	}
	return c
}

// Double is at work. All that it knows is in the API: one that is closed in the middle
// goes on as the next that is started. It is safe for concurrent use.
type Double struct {
	config   Config
	client   kubernetes.Interface
	custom   dynamic.Interface
	pods     corelisters.PodLister
	kinds    map[schema.GroupVersionResource]cache.GenericLister
	stop     context.CancelFunc
	running  sync.WaitGroup
	shutdown []func()
}

// Start runs the double until Close, and returns when it watches. A ctx that ends early
// abandons the start, nothing more.
func Start(ctx context.Context, c Config) (*Double, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	d := &Double{config: c.withDefaults(), kinds: map[schema.GroupVersionResource]cache.GenericLister{}}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	if err := d.start(ctx, run); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *Double) connect() (err error) {
	if d.client, d.custom = d.config.Client, d.config.Custom; d.client != nil && d.custom != nil {
		return nil
	}
	config := rest.CopyConfig(d.config.Cluster)
	if d.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	config.ContentType = "" // custom resources are JSON
	d.custom, err = dynamic.NewForConfig(config)
	return err
}

func (d *Double) start(ctx, run context.Context) error {
	if err := d.connect(); err != nil {
		return fmt.Errorf("operatordouble: make a client: %w", err)
	}
	pods := informers.NewSharedInformerFactory(d.client, 0)
	custom := dynamicinformer.NewDynamicSharedInformerFactory(d.custom, 0)
	d.shutdown = append(d.shutdown, pods.Shutdown, custom.Shutdown)
	d.pods = pods.Core().V1().Pods().Lister()
	synced := []cache.InformerSynced{pods.Core().V1().Pods().Informer().HasSynced}
	for _, kind := range d.config.Kinds {
		informer := custom.ForResource(kind)
		d.kinds[kind] = informer.Lister()
		synced = append(synced, informer.Informer().HasSynced)
	}
	pods.Start(run.Done())
	custom.Start(run.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("operatordouble: watch applications: %w", context.Cause(ctx))
	}
	d.running.Go(func() { d.work(run) })
	return nil
}

// Close stops the double and waits for it; pods stay. It may be called more than once.
func (d *Double) Close() {
	d.stop()
	d.running.Wait()
	for _, shutdown := range d.shutdown {
		shutdown()
	}
}

// pace is how often the applications are looked at.
const pace = 50 * time.Millisecond

func (d *Double) work(ctx context.Context) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		for kind, lister := range d.kinds {
			d.pass(ctx, kind, lister)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// pass takes each application one step further.
func (d *Double) pass(ctx context.Context, kind schema.GroupVersionResource, lister cache.GenericLister) {
	all, err := lister.List(labels.Everything())
	if err != nil {
		d.config.OnError(err)
		return
	}
	for _, o := range all {
		object, ok := o.(*unstructured.Unstructured)
		if !ok || object.GetDeletionTimestamp() != nil {
			continue
		}
		a := &application{d, kind, object.DeepCopy(), d.config.Faults(kind, types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()})}
		step := a.stepFlink
		if kind == SparkApplications {
			step = a.stepSpark
		}
		if err := step(ctx); err != nil && !passing(err) && ctx.Err() == nil {
			d.config.OnError(fmt.Errorf("operatordouble: %s %s/%s: %w", kind.Resource, object.GetNamespace(), object.GetName(), err))
		}
	}
}

// passing says that the cache was behind: the next pass sees more.
func passing(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)
}

// application is one that is looked at.
type application struct {
	*Double
	kind   schema.GroupVersionResource
	object *unstructured.Unstructured
	faults Faults
}

func (a *application) text(path ...string) string {
	value, _, _ := unstructured.NestedString(a.object.Object, path...)
	return value
}

// write sets fields of the status, each at its path, and writes it.
func (a *application) write(ctx context.Context, settings ...setting) error {
	for _, f := range settings {
		if err := unstructured.SetNestedField(a.object.Object, f.value, append([]string{"status"}, f.path...)...); err != nil {
			return err
		}
	}
	_, err := a.custom.Resource(a.kind).Namespace(a.object.GetNamespace()).UpdateStatus(ctx, a.object, metav1.UpdateOptions{})
	return err
}

type setting struct {
	value any
	path  []string
}

func set(value any, path ...string) setting { return setting{value, path} }

// owner is the reference of what the application owns.
func (a *application) owner() []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: a.object.GetAPIVersion(), Kind: a.object.GetKind(), Name: a.object.GetName(), UID: a.object.GetUID(),
		Controller: new(true),
	}}
}

// now is how the API writes the present.
func now() string { return metav1.Now().UTC().Format(time.RFC3339) }
