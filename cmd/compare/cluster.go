package compare

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/cmd/compare/social"
	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
)

// ClusterConfig is a comparison on a cluster that is there. Rest and Image are required.
type ClusterConfig struct {
	Config
	// Rest leads to the API server.
	Rest *rest.Config
	// Image is that of the application and of what sends the load: program spazio-testapp.
	Image string
	// Replace removes what an earlier comparison has left first; without it that is
	// refused, for it may be under way.
	Replace bool
}

// Namespace is the one that a comparison makes, and removes at its end.
const Namespace = "spazio-compare"

// labelComparison marks the namespace as a comparison's.
const labelComparison = "spazio-scheduler.github.io/comparison"

// removal is how long the namespace may take to go.
const removal = 3 * time.Minute

// fleet is a cluster that schedulers are compared on.
type fleet struct {
	config ClusterConfig
	client kubernetes.Interface
	say    func(format string, args ...any)
	nodes  []string // that pods may be put on
	agents *agents
	sender *http.Client // of the pod that sends the load
}

// Cluster compares schedulers of a cluster, by the power that Spazio's agents tell of its
// nodes: those that take pods without tolerations. The application, and the pod that sends
// the load, which the default scheduler places once for all runs, are in a namespace of
// their own, which is removed at the end also where ctx has ended. Before anything is measured,
// Cluster returns an error if the namespace exists, rights are missing, the power of a node is
// unknown, or a scheduler does not place a pod within three minutes. Void runs are treated as in
// Embedded.
func Cluster(ctx context.Context, c ClusterConfig, say func(format string, args ...any)) (r Report, err error) {
	f, err := newFleet(c, say)
	if err != nil {
		return r, err
	}
	if err := f.permitted(ctx); err != nil {
		return r, err
	}
	if err := f.enter(ctx); err != nil {
		return r, err
	}
	defer func() {
		say("removing the namespace %s", Namespace)
		err = errors.Join(err, f.leave(context.WithoutCancel(ctx))) // also where ctx has ended
	}()
	if err := f.prepare(ctx); err != nil {
		return r, err
	}
	quality, err := f.agents.quality(ctx)
	if err != nil {
		return r, err
	}
	return f.config.report(ctx, quality, fmt.Sprintf("%d of the cluster's", len(f.nodes)), say, f.run)
}

func newFleet(c ClusterConfig, say func(string, ...any)) (*fleet, error) {
	switch {
	case c.Rest == nil:
		return nil, refuse("Rest", nil, "set")
	case c.Image == "" || strings.ContainsAny(c.Image, " \t\n"):
		return nil, refuse("Image", c.Image, "an image")
	}
	if err := c.validate(1); err != nil {
		return nil, err
	}
	c.Rest = rest.CopyConfig(c.Rest)
	c.Rest.QPS = -1
	client, err := kubernetes.NewForConfig(c.Rest)
	if err != nil {
		return nil, err
	}
	return &fleet{config: c, client: client, say: say}, nil
}

// enter makes the namespace.
func (f *fleet) enter(ctx context.Context) error {
	namespaces := f.client.CoreV1().Namespaces()
	wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace, Labels: map[string]string{
		labelComparison: "true", "pod-security.kubernetes.io/enforce": "restricted",
	}}}
	_, err := namespaces.Create(ctx, wanted, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return describe("make the namespace", err)
	}
	there, err := namespaces.Get(ctx, Namespace, metav1.GetOptions{})
	switch {
	case err != nil:
		return describe("look at the namespace", err)
	case there.Labels[labelComparison] == "":
		return fmt.Errorf("%w: %s is not a comparison's", errNamespace, Namespace)
	case !f.config.Replace:
		return fmt.Errorf("%w: %s is of a comparison of %v, which is under way or was killed", errNamespace, Namespace, there.CreationTimestamp.UTC().Format(time.RFC3339))
	}
	f.say("removing what an earlier comparison has left")
	if err := f.leave(ctx); err != nil {
		return err
	}
	_, err = namespaces.Create(ctx, wanted, metav1.CreateOptions{})
	return describe("make the namespace", err)
}

// leave removes the namespace and waits until it is gone.
func (f *fleet) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removal)
	defer cancel()
	for {
		err := f.client.CoreV1().Namespaces().Delete(ctx, Namespace, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil && !apierrors.IsConflict(err) { // it is being deleted
			return fmt.Errorf("remove the namespace %s: %w: %w", Namespace, ErrLeft, err)
		}
		if stopped := pause(ctx, look); stopped != nil {
			return fmt.Errorf("the namespace %s: %w: %w", Namespace, ErrLeft, stopped)
		}
	}
}

// describe says what an error is about; nil stays nil.
func describe(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// prepare finds the nodes and starts what all runs have in common.
func (f *fleet) prepare(ctx context.Context) (err error) {
	if f.nodes, err = f.open(ctx); err != nil {
		return err
	}
	f.agents = &agents{f.config.Rest, f.nodes}
	if _, err := f.agents.read(ctx); err != nil {
		return err
	}
	if err := f.probe(ctx); err != nil {
		return err
	}
	for _, s := range services() {
		if _, err := f.client.CoreV1().Services(Namespace).Create(ctx, s, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make service %s: %w", s.Name, err)
		}
	}
	return f.startSender(ctx)
}

// open are the nodes that take pods as spec makes them: Linux, without tolerations.
func (f *fleet) open(ctx context.Context) (names []string, err error) {
	nodes, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, describe("list the nodes", err)
	}
	for _, n := range nodes.Items {
		closed := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule })
		if !closed && !n.Spec.Unschedulable && n.Labels[corev1.LabelOSStable] == "linux" {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: none takes pods", errNoPower)
	}
	slices.Sort(names)
	return names, nil
}

// probe has each scheduler place a pod.
func (f *fleet) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, placing)
	defer cancel()
	pods := f.client.CoreV1().Pods(Namespace)
	names := slices.Compact(slices.Sorted(slices.Values(f.config.Schedulers)))
	for i, scheduler := range names {
		p := f.pod(fmt.Sprintf("probe-%d", i+1), scheduler, tierArgs("url"))
		if _, err := pods.Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return describe("make a pod for "+scheduler, err)
		}
	}
	for i, scheduler := range names {
		if err := f.await(ctx, fmt.Sprintf("probe-%d", i+1), func(p *corev1.Pod) bool { return p.Spec.NodeName != "" }); err != nil {
			return fmt.Errorf("%w: %s: %w", errNoScheduler, scheduler, err)
		}
	}
	return describe("remove the probes", pods.DeleteCollection(ctx, *metav1.NewDeleteOptions(0), metav1.ListOptions{}))
}

// await waits for a pod to be as it should.
func (f *fleet) await(ctx context.Context, name string, done func(*corev1.Pod) bool) error {
	trouble := ""
	for {
		p, err := f.client.CoreV1().Pods(Namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			if done(p) {
				return nil
			}
			trouble = deploy.Trouble(*p)
		} else if ctx.Err() == nil {
			return fmt.Errorf("look at pod %s: %w", name, err)
		}
		if err := pause(ctx, look); err != nil {
			return fmt.Errorf("pod %s: %s: %w", name, trouble, err)
		}
	}
}

// senderName is the pod's that sends the load.
const senderName = "load"

// startSender starts it.
func (f *fleet) startSender(ctx context.Context) error {
	f.say("starting the pod that sends the load")
	sender := f.pod(senderName, corev1.DefaultSchedulerName, []string{"load", "--listen", fmt.Sprint(":", port)})
	if _, err := f.client.CoreV1().Pods(Namespace).Create(ctx, sender, metav1.CreateOptions{}); err != nil {
		return describe("make the pod that sends the load", err)
	}
	waiting, cancel := context.WithTimeout(ctx, placing)
	defer cancel()
	if err := f.await(waiting, senderName, isReady); err != nil {
		return fmt.Errorf("%w: %w", errPlacing, err)
	}
	through, err := podforward.New(podforward.Config{Cluster: f.config.Rest, Namespace: Namespace, Port: port, Find: podforward.Named(senderName)})
	if err != nil {
		return err
	}
	f.sender = &http.Client{Transport: through}
	return nil
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// run makes a run from start to end. Its pods are gone when it returns without an error.
func (f *fleet) run(ctx context.Context, t turn) (r runResult, err error) {
	a, err := f.newReplicas(ctx, f.config.Schedulers[t.scheduler])
	if err != nil {
		return r, err
	}
	defer a.stop()
	if err = a.place(ctx); err == nil {
		r, err = f.measure(ctx, a, t)
	}
	// An agent that is renewed meanwhile must not end a comparison of hours.
	if (errors.Is(err, errPlacing) || errors.Is(err, errNoPower)) && ctx.Err() == nil {
		r, err = runResult{Void: err.Error()}, nil
	}
	if err == nil {
		err = a.remove(ctx)
	}
	return r, err
}

// measure puts the load on and takes what the nodes took meanwhile.
func (f *fleet) measure(ctx context.Context, a *deployed, t turn) (r runResult, err error) {
	if f.config.WarmUp > 0 {
		if _, err := f.load(ctx, a, f.config.WarmUp, func() error { return nil }); err != nil {
			return r, err
		}
	}
	var from, to map[string]power
	var began, end time.Time
	result, err := f.load(ctx, a, f.config.Duration, func() (err error) {
		began = time.Now()
		if from, err = f.agents.read(ctx); err != nil {
			return err
		}
		if r.Pods, err = f.config.hold(ctx, began, t.pair, a.count, a.kill); err != nil {
			return err
		}
		end = time.Now()
		to, err = f.agents.read(ctx)
		return err
	})
	if err != nil {
		return r, err
	}
	r.Seconds = end.Sub(began).Seconds()
	f.config.answered(&r, result)
	joules, err := between(from, to, r.Seconds)
	if err != nil {
		r.Void = err.Error()
	}
	bound, mean := a.bindings()
	r.Joules, r.Bound, r.Bind = joules, bound, mean.Seconds()
	return r, nil
}

// load has requests sent to the front's pods and something done from when the first is due.
func (f *fleet) load(ctx context.Context, a *deployed, length time.Duration, meanwhile func() error) (social.LoadResult, error) {
	return social.SendLoad(ctx, f.sender, "http://"+senderName+social.LoadPath, f.config.loadOn(a.front(), length), meanwhile)
}
