// Package kube lists the pods of a node from the Kubernetes API: a [Source] is a
// [telemetry.PodSource] over a watch of the pods bound to the node. It needs
// neither the node's files nor a socket, but permission to list and watch pods;
// it learns of a binding some milliseconds before the node does, and of what runs
// only when the kubelet has reported it, a second later or more. Prefer
// [telemetry.CgroupPods] on nodes whose cgroups can be seen.
//
// Pods are listed, then watched from where the list ends; a watch that ends is
// taken up where it ended, with the help of bookmarks, and one whose events the
// server no longer has (410 Gone) begins with a new list. So the set of pods is
// right again after any loss. Of each pod a few words are kept, not the object.
//
// Types that do not speak of concurrent use are plain values.
package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/follow"
)

// follower keeps the set of pods over lists and watches.
type follower struct {
	config follow.Config
	client *rest.RESTClient
	node   string
	notify func(telemetry.PodEvent)

	pods follow.Pods
	// states are the pods known, by the UID of the object: a hash of the state of
	// each one's containers.
	states map[string]uint64
	seed   maphash.Seed
	// version is where the next watch begins; empty, with a list.
	version string
}

// session lists if need be and watches until the watch fails. One that ends as
// it should is followed by another.
func (f *follower) session(ctx context.Context, up func()) error {
	// What a watch cannot be begun with is listed anew at once, but once: from the
	// server's cache at first, which is cheap and may be behind, then exactly.
	fresh, from := false, "0"
	for {
		if f.version == "" {
			if err := f.relist(ctx, from); err != nil {
				return fmt.Errorf("listing pods: %w", err)
			}
			fresh, from = true, ""
		}
		heard, err := f.watchOnce(ctx, up)
		if heard {
			fresh, from = false, "0"
		}
		if ctx.Err() != nil {
			return nil
		}
		if isRefused(err) {
			f.version = ""
		}
		expired := apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
		if err != nil && (fresh || !expired) {
			return fmt.Errorf("watching pods: %w", err)
		}
	}
}

// isRefused reports whether the server answered that it cannot serve the version
// that the watch asked for, or may have. That it is busy or going away does not
// mean so.
func isRefused(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && !apierrors.IsTooManyRequests(err) &&
		!apierrors.IsServiceUnavailable(err) && !apierrors.IsInternalError(err)
}

// relist reads all pods, at least as new as version from, and reports.
func (f *follower) relist(ctx context.Context, from string) error {
	pods, states := map[string]telemetry.Pod{}, map[string]uint64{}
	version, err := f.list(ctx, from, func(p *corev1.Pod) {
		id := string(p.UID)
		states[id] = f.state(p)
		if pod, present := podOf(p); present {
			pods[id] = pod
		}
	})
	if err != nil {
		return err
	}
	for id, state := range states {
		if before, known := f.states[id]; !known || before != state {
			f.pods.Churn()
		}
	}
	f.version, f.states = version, states
	for _, id := range f.pods.Keys() {
		if _, present := pods[id]; !present {
			f.remove(id)
		}
	}
	for id, pod := range pods {
		f.pods.Put(id, pod)
	}
	f.pods.Report(f.notify)
	return nil
}

// errEmpty is a watch that ended at once. To begin another could go on for ever.
var errEmpty = errors.New("ended at once")

const atOnce = time.Second

// watchOnce takes in the events of one watch until it ends, waits for its
// goroutine, and reports whether there were any.
func (f *follower) watchOnce(ctx context.Context, up func()) (heard bool, err error) {
	start := time.Now()
	w, err := f.watch(ctx, f.version)
	if err != nil {
		return false, err
	}
	defer func() {
		w.Stop()
		for range w.ResultChan() {
		}
	}()
	up()
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			return heard, apierrors.FromObject(e.Object)
		}
		p, ok := e.Object.(*corev1.Pod)
		if !ok {
			return heard, fmt.Errorf("an event of type %T", e.Object)
		}
		heard = true
		f.apply(e.Type, p)
		f.version = p.ResourceVersion
		f.pods.Report(f.notify)
	}
	if !heard && time.Since(start) < atOnce {
		return false, errEmpty
	}
	return heard, nil
}

func (f *follower) apply(kind watch.EventType, p *corev1.Pod) {
	id := string(p.UID)
	switch kind {
	case watch.Added, watch.Modified:
		state := f.state(p)
		if before, known := f.states[id]; !known || before != state {
			f.pods.Churn()
		}
		f.states[id] = state
		if pod, present := podOf(p); present {
			f.pods.Put(id, pod)
		} else {
			f.pods.Remove(id)
		}
	case watch.Deleted:
		delete(f.states, id)
		f.remove(id)
	}
}

func (f *follower) remove(id string) {
	if f.pods.Remove(id) {
		f.pods.Churn()
	}
}

// uidOnNode is the UID by which the node knows a pod: a static pod's mirror
// carries that of the static pod in an annotation.
func uidOnNode(p *corev1.Pod) string {
	if uid := p.Annotations[corev1.MirrorPodAnnotationKey]; uid != "" {
		return uid
	}
	return string(p.UID)
}

// containers calls visit for the status of each container, of any kind.
func containers(p *corev1.Pod, visit func(*corev1.ContainerStatus)) {
	for _, statuses := range [][]corev1.ContainerStatus{
		p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses,
	} {
		for i := range statuses {
			visit(&statuses[i])
		}
	}
}

// podOf is what p is on its node, where it is until its phase shows that it ended.
// Init containers alone, sidecars among them, leave it pending.
func podOf(p *corev1.Pod) (pod telemetry.Pod, present bool) {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return telemetry.Pod{}, false
	}
	inits, main := started(p.Status.InitContainerStatuses), started(p.Status.ContainerStatuses)
	pod = telemetry.Pod{UID: uidOnNode(p), Starts: inits + main, Namespace: p.Namespace, Name: p.Name}
	if main > 0 {
		pod.State = telemetry.PodStopped
		// Before, a debugger would pass for a container after the init containers.
		pod.Starts += started(p.Status.EphemeralContainerStatuses)
		containers(p, func(s *corev1.ContainerStatus) {
			if s.State.Running != nil {
				pod.State = telemetry.PodRunning
			}
		})
	}
	return pod, true
}

// started counts the containers that run or have run.
func started(statuses []corev1.ContainerStatus) (n int) {
	for i := range statuses {
		s := &statuses[i]
		if s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil || s.RestartCount > 0 {
			n++
		}
	}
	return n
}

// state hashes which containers there are and which of them run. Why one waits
// is left out: an image that cannot be pulled changes its reason all day.
func (f *follower) state(p *corev1.Pod) uint64 {
	var h maphash.Hash
	h.SetSeed(f.seed)
	containers(p, func(s *corev1.ContainerStatus) {
		phase := "waiting"
		switch {
		case s.State.Running != nil:
			phase = "running"
		case s.State.Terminated != nil:
			phase = "terminated"
		}
		for _, part := range []string{s.Name, s.ContainerID, phase} {
			// Writing to a hash does not fail.
			_, _ = h.WriteString(part)
			_ = h.WriteByte(0)
		}
	})
	return h.Sum64()
}

const (
	// pageSize bounds how many whole pods are in memory at once.
	pageSize = 100
	// listTimeout bounds a listing; the server's own limit is a minute.
	listTimeout = time.Minute
	// watchFor and its jitter are the server's own habit: a watch that hangs
	// unnoticed ends after a while, and not for all nodes at once.
	watchFor = 5 * time.Minute
)

// newClient makes a client that knows pods alone: the full set of types costs
// an agent megabytes.
func newClient(c *rest.Config) (*rest.RESTClient, error) {
	scheme := runtime.NewScheme()
	version := corev1.SchemeGroupVersion
	scheme.AddKnownTypes(version, &corev1.Pod{}, &corev1.PodList{})
	metav1.AddToGroupVersion(scheme, version)
	c = rest.CopyConfig(c)
	c.APIPath = "/api"
	c.GroupVersion = &version
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	if c.ContentType == "" {
		c.ContentType = runtime.ContentTypeProtobuf
		c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	return rest.RESTClientFor(c)
}

func (f *follower) request(version string, o metav1.ListOptions) *rest.Request {
	o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", f.node).String()
	o.ResourceVersion = version
	return f.client.Get().Resource("pods").VersionedParams(&o, metav1.ParameterCodec)
}

// list reads the pods page by page, at least as new as version from, passes each
// to visit and returns the version of the list.
func (f *follower) list(ctx context.Context, from string, visit func(*corev1.Pod)) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	o := metav1.ListOptions{Limit: pageSize}
	for {
		var page corev1.PodList
		if err := f.request(from, o).Do(ctx).Into(&page); err != nil {
			return "", err
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if o.Continue = page.Continue; o.Continue == "" {
			return page.ResourceVersion, nil
		}
		from = "" // a page that continues names its version itself
	}
}

func (f *follower) watch(ctx context.Context, version string) (watch.Interface, error) {
	seconds := int64((watchFor + rand.N(watchFor)).Seconds())
	o := metav1.ListOptions{Watch: true, AllowWatchBookmarks: true, TimeoutSeconds: &seconds}
	return f.request(version, o).Watch(ctx)
}

// Config sets which node's pods to report and where to ask.
type Config struct {
	// REST is how to reach the API server, as rest.InClusterConfig or clientcmd
	// make it. It is needed and not modified. Its own limit on requests holds.
	REST *rest.Config
	// Node is the name of the node. It is needed.
	Node string
	// Logger logs, once each, an API server that is lost or back; nil means
	// slog.Default.
	Logger *slog.Logger

	// minBackoff and maxBackoff bound the pause ahead of another try, which doubles
	// from one to the next and is drawn from its upper half.
	minBackoff, maxBackoff time.Duration
}

// Defaults of Config, longer than those of a socket's: every node of a cluster
// asks the same server.
const (
	defaultMinBackoff = time.Second
	defaultMaxBackoff = 30 * time.Second
)

// validate returns a *telemetry.FieldError for the first field out of range.
func (c Config) validate() error {
	if c.REST == nil {
		return telemetry.NewFieldError("REST", c.REST, "needed")
	}
	if c.Node == "" {
		return telemetry.NewFieldError("Node", c.Node, "needed")
	}
	if reasons := validation.IsDNS1123Subdomain(c.Node); len(reasons) > 0 {
		return telemetry.NewFieldError("Node", c.Node, reasons[0])
	}
	return nil
}

// follow is the part of c that other sources have, too.
func (c Config) follow() follow.Config {
	return follow.Config{
		MinBackoff: cmp.Or(c.minBackoff, defaultMinBackoff), MaxBackoff: cmp.Or(c.maxBackoff, defaultMaxBackoff), Logger: c.Logger,
	}
}

// Source lists the pods of a node as the API server knows them, from their binding
// to their end. A pod is pending until the first of its containers other than init
// containers has started, and runs while one of any kind does; it goes by its own
// UID, except for a mirror pod, which has that of its static pod, as on the node. Churn is a
// pod that is bound or a container that changes its state. Run may be called once; Health
// is safe for concurrent use.
type Source struct {
	config follow.Config
	client *rest.RESTClient
	node   string
	health follow.Health
}

// Health returns nil while the API server answers, and before Run.
func (s *Source) Health() error { return s.health.Get() }

// New returns a source over the API server of c, which need not answer yet. The
// error is a *telemetry.FieldError; of field REST, too, for one that makes no
// client.
func New(c Config) (*Source, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	client, err := newClient(c.REST)
	if err != nil {
		return nil, telemetry.NewFieldError("REST", c.REST.Host, err.Error())
	}
	return &Source{config: c.follow().WithDefaults(), client: client, node: c.Node}, nil
}

// Run follows the API server until ctx ends; then it returns nil. Nothing is
// reported until it answered once. While it is away the last set stands.
func (s *Source) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	f := follower{config: s.config, client: s.client, node: s.node, notify: notify, seed: maphash.MakeSeed()}
	follow.Retry(ctx, s.config, "API server", &s.health, f.session)
	utilnet.CloseIdleConnectionsFor(s.client.Client.Transport)
	return nil
}
