package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

var errName = errors.New("its name is not that of its workload")

// Controller follows the API server and writes to it. Its methods are safe for
// concurrent use; Run is called once.
type Controller struct {
	config   Config
	logger   *slog.Logger
	metrics  *metrics
	scheme   *runtime.Scheme
	client   client.Client
	pods     rest.Interface
	profiles rest.Interface
	objects  *objects
	podStore *podStore
	asker    *asker
	// scalers is nil where nothing is resized, exporter where nothing is exported; it is
	// one of the actuators, as far as these are on.
	scalers   *scalers
	exporter  *exporter
	actuators []actuator
	restored  chan struct{}
	quiet     quiet
}

// New checks the config; nothing is connected yet.
func New(c Config) (*Controller, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	// Writes are bounded here, and what is read must not wait for them.
	c.REST = rest.CopyConfig(c.REST)
	c.REST.QPS = -1
	c.REST.ContentType, c.REST.AcceptContentTypes = runtime.ContentTypeJSON, ""
	r := &Controller{config: c, logger: c.Logger, restored: make(chan struct{}), scheme: runtime.NewScheme()}
	err := errors.Join(v1alpha1.AddToScheme(r.scheme), authorizationv1.AddToScheme(r.scheme), clientgoscheme.AddToScheme(r.scheme))
	if err != nil {
		return nil, err
	}
	if r.metrics, err = newMetrics(c.Registerer); err != nil {
		return nil, err
	}
	if r.client, err = client.New(c.REST, client.Options{Scheme: r.scheme, Mapper: mapper()}); err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	if r.pods, err = podClient(c.REST); err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	if r.profiles, err = profileClient(c.REST); err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	r.asker = newAsker(c, r.metrics)
	r.podStore = &podStore{store: c.Store, unknown: r.asker.add, synced: make(chan struct{})}
	r.objects = &objects{store: c.Store, of: map[types.NamespacedName]kept{}, strange: func(name types.NamespacedName, why error) {
		r.complain("strange", "a profile is passed over", "profile", name.String(), "error", why)
	}}
	if err := r.addActuators(); err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	return r, nil
}

// mapper knows the resources that are written, so that the API server need not be
// asked which there are: definitions may come and go.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(v1alpha1.GroupVersion.WithKind("WorkloadProfile"), meta.RESTScopeNamespace)
	m.Add(v1alpha1.GroupVersion.WithKind("WorkloadProfileCheckpoint"), meta.RESTScopeNamespace)
	m.Add(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), meta.RESTScopeRoot)
	return m
}

// Ready reports that checkpoints have been read and the pods are known: windows count
// from now on.
func (c *Controller) Ready() error {
	for _, wait := range []struct {
		what string
		done <-chan struct{}
	}{{"checkpoints are being read", c.restored}, {"pods are being listed", c.podStore.synced}} {
		select {
		case <-wait.done:
		default:
			return errors.New(wait.what)
		}
	}
	return nil
}

// Restored is closed when checkpoints have been read, or there is no right to.
// Windows should be received from then on.
func (c *Controller) Restored() <-chan struct{} { return c.restored }

// Run follows and writes until ctx ends, which is no error.
func (c *Controller) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { c.watchRights(ctx) })
	c.restore(ctx)
	close(c.restored)
	all.Go(func() {
		c.follow(ctx, listWatch(c.pods, "pods", ""), "pods", &corev1.Pod{}, reflectorStore{c.podStore, slimmed})
	})
	all.Go(func() {
		c.follow(ctx, listWatch(c.profiles, v1alpha1.Profiles, ""), v1alpha1.Profiles, &v1alpha1.WorkloadProfile{}, reflectorStore{c.objects, slimProfile})
	})
	for _, a := range c.actuators {
		all.Go(func() { a.follow(ctx) })
	}
	for range askers {
		all.Go(func() { c.asker.run(ctx) })
	}
	all.Go(func() { c.tune(ctx) })
	for ctx.Err() == nil {
		err := c.lead(ctx)
		c.metrics.leader.Set(0)
		if ctx.Err() != nil {
			break
		}
		// A replica that lost the lease knows as much as before.
		c.logger.Warn("this replica has lost the lease and stops writing; it stands by", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}

// lead stands by until it has the lease and then writes, until it loses it.
func (c *Controller) lead(ctx context.Context) error {
	off, grace := metricsserver.Options{BindAddress: "0"}, time.Second
	m, err := manager.New(c.config.REST, manager.Options{
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper(), nil },
		Scheme:         c.scheme, Logger: logr.FromSlogHandler(c.logger.Handler()),
		Metrics: off, HealthProbeBindAddress: "0", GracefulShutdownTimeout: &grace,
		LeaderElection: true, LeaderElectionID: LeaseName, LeaderElectionNamespace: c.leaseNamespace(),
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	w := newWriter(c, m.GetEventRecorder(LeaseName))
	if err := m.Add(w); err != nil {
		return err
	}
	return m.Start(ctx)
}

// LeaseName is the lease of who writes, and who reports events.
const LeaseName = "spazio-profiler"

// namespaceFile is where a pod finds its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func (c *Controller) leaseNamespace() string {
	if c.config.LeaseNamespace != "" {
		return c.config.LeaseNamespace
	}
	text, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "kube-system"
	}
	return cmp.Or(strings.TrimSpace(string(text)), "kube-system")
}

// complain logs a line once a minute of each kind.
func (c *Controller) complain(kind, message string, args ...any) {
	if c.quiet.allow(time.Now(), kind) {
		c.logger.Error(message+"; one line a minute is logged", args...)
	}
}

// quiet lets a kind of line through once a minute. Safe for concurrent use.
type quiet struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func (q *quiet) allow(at time.Time, kind string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.last == nil {
		q.last = map[string]time.Time{}
	}
	if last, ok := q.last[kind]; ok && at.Sub(last) < time.Minute {
		return false
	}
	q.last[kind] = at
	return true
}

// identityOf is how an object names a workload's template.
func identityOf(template uint64) string {
	if template == 0 {
		return ""
	}
	return fmt.Sprintf("%016x", template)
}

func objectName(w profile.Workload) types.NamespacedName {
	return types.NamespacedName{Namespace: w.Namespace, Name: v1alpha1.NameOf(w)}
}

// Config of a Controller. Store and REST are needed; the zero value of another field is its
// default.
type Config struct {
	Store *profiler.Store
	// REST leads to the API server.
	REST *rest.Config
	// Received has a token when there may be something to write; nil is a look every
	// tenth of a second.
	Received <-chan struct{}
	// LeaseNamespace is where the lease is, which says who writes; empty is the
	// pod's own namespace.
	LeaseNamespace string
	// WriteRate bounds the writes a second, default 10. Four seconds' worth may come
	// at once.
	WriteRate float64
	// History, if set, is asked about workloads that nothing is known of.
	History History
	// Services, if set, is asked before each step of the Store's continuous profiler who
	// called whom.
	Services Services
	// VPAName, if set, is by what name objects of the Vertical Pod Autoscaler ask for our
	// recommendations.
	VPAName string
	// Resize changes the requests of running pods that have the label resize.Label, but
	// not of a resource by whose utilisation their number is set.
	Resize bool
	// ExportLiqo writes the custom resources of package liqo, too.
	ExportLiqo bool
	// Registerer gets the metrics; nil registers none.
	Registerer prometheus.Registerer
	// Logger gets what is missing or fails; nil logs nothing.
	Logger *slog.Logger
}

// validate returns a *field.Error.
func (c Config) validate() error {
	refuse := func(name string, value any) error {
		return &field.Error{Package: "profiler", Field: name, Value: value, Err: profiler.ErrInvalid}
	}
	switch {
	case c.Store == nil:
		return refuse("Store", nil)
	case c.REST == nil:
		return refuse("REST", nil)
	case !(c.WriteRate >= 0) || c.WriteRate > 1e6:
		return refuse("WriteRate", c.WriteRate)
	}
	return nil
}

// features are those that are on.
func (c Config) features() (all []Feature) {
	for feature, on := range map[Feature]bool{ForVPA: c.VPAName != "", ForResize: c.Resize, ForExport: c.ExportLiqo} {
		if on {
			all = append(all, feature)
		}
	}
	slices.Sort(all)
	return all
}

func (c Config) withDefaults() Config {
	c.WriteRate = cmp.Or(c.WriteRate, 10)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
