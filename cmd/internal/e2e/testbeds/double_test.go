// The operators of Spark and Flink need images that tests cannot pull. operatorDouble stands in for
// them: it watches SparkApplications and FlinkDeployments, creates the pods that the operators would
// create, and sets the states that the operators document. That an operator's own types accept the
// objects is tested elsewhere.
//
// Spark (sparkoperator.k8s.io/v1beta2, as of 2.5): SUBMITTED with a driver pod, RUNNING once that runs.
// The driver creates executors until executor.instances are alive; each requests coreRequest (else
// cores) and memory + memoryOverhead, and carries the labels and annotations of executor. Spark applies
// executor.template to the pod; the operator's webhook sets executor.schedulerName and
// priorityClassName, unless there is a template. SUCCEEDING and COMPLETED follow, and the pods are
// deleted. With restartPolicy Never a failed submission ends in FAILED.
//
// Flink (flink.apache.org/v1beta1, as of 1.15, mode standalone): one Deployment of the job manager and
// one of taskManager.replicas task managers, whose pods upstream's controllers create; limits are
// requests. CREATED, DEPLOYED, STABLE; the job is RUNNING once all task managers run, then FINISHED.
// The pods remain until the FlinkDeployment is deleted and the garbage collector removes them.
//
// Pods never end by themselves. An application has succeeded when all its executors or task managers
// have run for the seconds of simnode.AnnotationWork in executor.annotations or
// taskManager.podTemplate.metadata.annotations (default simnode.DefaultWork).
//
// Services, ingresses, certificates of webhooks, savepoints, upgrades, restarts and suspension are
// left out. operatorFaults makes things go wrong.

package testbeds

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
)

// errSpec is wrapped by errors about a field of an application.
var errSpec = errors.New("invalid application")

// refuse returns an error about a field; want completes "must be".
func refuse(name string, value any, want string) error {
	return fmt.Errorf("%w: %s = %v: must be %s", errSpec, name, value, want)
}

// The resources that the operators watch.
var (
	sparkApplications = schema.GroupVersionResource{Group: "sparkoperator.k8s.io", Version: "v1beta2", Resource: "sparkapplications"}
	flinkDeployments  = schema.GroupVersionResource{Group: "flink.apache.org", Version: "v1beta1", Resource: "flinkdeployments"}
)

// operatorFaults configures an application's faults; the zero value means none.
type operatorFaults struct {
	// FailSubmission: no pod is ever made (Spark: SUBMISSION_FAILED, then FAILED; Flink:
	// the lifecycle FAILED).
	FailSubmission bool
	// Fail: the application fails where it would have succeeded.
	Fail bool
	// WebhookOff: executors lack what the webhook adds.
	WebhookOff bool
	// SkipStates: none of the states between the first and the last is written.
	SkipStates bool
}

// doubleConfig configures an operatorDouble. Cluster is required; a zero field takes its default.
type doubleConfig struct {
	// Cluster is the API server, with the credential that the operators use.
	Cluster *rest.Config
	// Client and Custom, if both are set, take Cluster's place: fakes, for instance.
	Client kubernetes.Interface
	Custom dynamic.Interface
	// Kinds are those of sparkApplications and flinkDeployments that are watched;
	// default both. The API server must serve them.
	Kinds []schema.GroupVersionResource
	// Faults, if set, returns the faults of an application. One goroutine calls it, repeatedly.
	Faults func(kind schema.GroupVersionResource, application types.NamespacedName) operatorFaults
	// OnError, if set, receives the errors of steps, which are tried again. One goroutine calls
	// it, never after Close has returned.
	OnError func(error)
}

func (c doubleConfig) withDefaults() doubleConfig {
	if len(c.Kinds) == 0 {
		c.Kinds = []schema.GroupVersionResource{sparkApplications, flinkDeployments}
	}
	if c.Faults == nil {
		c.Faults = func(schema.GroupVersionResource, types.NamespacedName) operatorFaults { return operatorFaults{} }
	}
	if c.OnError == nil {
		c.OnError = func(error) {}
	}
	return c
}

// operatorDouble acts as the operators. It keeps its whole state in the API, so that another one can
// continue where it was closed. It is safe for concurrent use.
type operatorDouble struct {
	config   doubleConfig
	client   kubernetes.Interface
	custom   dynamic.Interface
	pods     corelisters.PodLister
	kinds    map[schema.GroupVersionResource]cache.GenericLister
	stop     context.CancelFunc
	running  sync.WaitGroup
	shutdown []func()
}

// startDouble runs the double until Close, and returns when it watches. A ctx that ends early
// abandons the start, nothing more.
func startDouble(ctx context.Context, c doubleConfig) (*operatorDouble, error) {
	d := &operatorDouble{config: c.withDefaults(), kinds: map[schema.GroupVersionResource]cache.GenericLister{}}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	if err := d.start(ctx, run); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *operatorDouble) connect() (err error) {
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

func (d *operatorDouble) start(ctx, run context.Context) error {
	if err := d.connect(); err != nil {
		return fmt.Errorf("operators' double: make a client: %w", err)
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
		return fmt.Errorf("operators' double: watch applications: %w", context.Cause(ctx))
	}
	d.running.Go(func() { d.work(run) })
	return nil
}

// Close stops the double and waits for it; pods stay. It may be called more than once.
func (d *operatorDouble) Close() {
	d.stop()
	d.running.Wait()
	for _, shutdown := range d.shutdown {
		shutdown()
	}
}

// pace is the interval at which the applications are checked.
const pace = 50 * time.Millisecond

func (d *operatorDouble) work(ctx context.Context) {
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

// pass advances each application by one step.
func (d *operatorDouble) pass(ctx context.Context, kind schema.GroupVersionResource, lister cache.GenericLister) {
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
		if kind == sparkApplications {
			step = a.stepSpark
		}
		if err := step(ctx); err != nil && !passing(err) && ctx.Err() == nil {
			d.config.OnError(fmt.Errorf("operators' double: %s %s/%s: %w", kind.Resource, object.GetNamespace(), object.GetName(), err))
		}
	}
}

// passing reports whether an error comes from a cache that lags; the next pass sees more.
func passing(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)
}

// application is an application being processed.
type application struct {
	*operatorDouble
	kind   schema.GroupVersionResource
	object *unstructured.Unstructured
	faults operatorFaults
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

// owner returns the reference for objects that the application owns.
func (a *application) owner() []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: a.object.GetAPIVersion(), Kind: a.object.GetKind(), Name: a.object.GetName(), UID: a.object.GetUID(),
		Controller: new(true),
	}}
}

// now formats the present as the API does.
func now() string { return metav1.Now().UTC().Format(time.RFC3339) }
