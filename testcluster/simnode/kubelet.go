package simnode

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Event is a transition of a pod that has been written to the API server.
type Event struct {
	Transition
	Pod types.NamespacedName
	// Node is empty for a pod that was deleted before it was bound.
	Node string
}

// kubelet stands between the API server and the machines of many nodes: it runs
// the pods that are bound to them and writes back what became of the pods. It is
// safe for concurrent use.
type kubelet struct {
	client   kubernetes.Interface
	config   Config
	machines map[string]Machine
	writers  []chan write

	mu   sync.Mutex
	pods map[types.UID]*tracked
	held map[string]amounts // requests of the pods on each node that have not ended
}

// tracked is a pod that a machine has been given.
type tracked struct {
	name               types.NamespacedName
	node               string
	containers         []string
	deleting, finished bool
	requests           amounts // 0 once they are released
	started            metav1.Time
}

// write is a change of a pod that is due at the API server.
type write struct {
	uid        types.UID
	name       types.NamespacedName
	node       string
	containers []string
	started    metav1.Time // zero if its containers never did
	at         metav1.Time // of the transition, however long its write waits
	transition Transition
	rejected   *rejection // nil for a pod that was let in
	remove     bool
}

// Pods write their status in their own order and independent of each other:
// what keeps up with some hundred starts a second.
const kubeletWriters = 8

// newKubelet returns a kubelet for the given machines. Of the configuration, which
// has its defaults, it uses what is the same for all nodes.
func newKubelet(client kubernetes.Interface, c Config, machines []Machine) *kubelet {
	k := &kubelet{
		client:   client,
		config:   c,
		machines: make(map[string]Machine, len(machines)),
		pods:     make(map[types.UID]*tracked),
		held:     make(map[string]amounts, len(machines)),
		writers:  make([]chan write, kubeletWriters),
	}
	for _, m := range machines {
		k.machines[m.Spec().Name] = m
	}
	for i := range k.writers {
		// A machine must never wait for the API server.
		k.writers[i] = make(chan write, 1<<16)
	}
	return k
}

// run watches and runs pods until ctx ends or a machine fails, and returns when
// every machine has stopped. synced is closed once the watch has begun.
func (k *kubelet) run(ctx context.Context, synced chan<- struct{}) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for name, m := range k.machines {
		running.Go(func() {
			err := m.Run(ctx, func(t Transition) { k.changed(name, t) })
			if err != nil || ctx.Err() == nil {
				cancel(&machineError{name, err})
			}
		})
	}
	for _, queue := range k.writers {
		running.Go(func() { k.writeAll(ctx, queue) })
	}
	informer := k.informer()
	running.Go(func() { informer.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		close(synced)
	}
	<-ctx.Done()
	running.Wait()
	var failed *machineError
	if errors.As(context.Cause(ctx), &failed) {
		return failed
	}
	return nil
}

// machineError is the error of a machine that ended by itself. It is a type of its own because what
// it wraps may be context.Canceled, and must not be taken for the end of the run.
type machineError struct {
	node string
	err  error // nil for no reason
}

func (e *machineError) Error() string {
	if e.err == nil {
		return "node " + e.node + " ended by itself"
	}
	return "node " + e.node + ": " + e.err.Error()
}

func (e *machineError) Unwrap() error { return e.err }

// informer watches all pods, which costs the API server less than one watch per node. It includes
// unbound pods, whose deletion is reported to the observer.
func (k *kubelet) informer() cache.SharedIndexInformer {
	informer := coreinformers.NewPodInformer(k.client, metav1.NamespaceAll, 0, cache.Indexers{})
	// A fresh informer accepts any handler.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { k.seen(obj) },
		UpdateFunc: func(_, obj any) { k.seen(obj) },
		DeleteFunc: k.deleted,
	})
	return informer
}

func (k *kubelet) seen(obj any) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	if _, ok := k.machines[pod.Spec.NodeName]; !ok {
		return
	}
	switch {
	case pod.DeletionTimestamp != nil:
		k.remove(pod)
	case pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed:
		k.bind(pod)
	}
}

func (k *kubelet) bind(pod *corev1.Pod) {
	name, node := nameOf(pod), pod.Spec.NodeName
	k.mu.Lock()
	_, known := k.pods[pod.UID]
	var rejected *rejection
	if !known {
		t := &tracked{name: name, node: node, containers: containersOf(pod)}
		rejected = k.admit(t, requestsOf(pod))
		k.pods[pod.UID] = t
	}
	k.mu.Unlock()
	if known {
		return
	}
	k.observe(name, node, Transition{At: k.config.Clock.Now(), UID: string(pod.UID), Phase: Bound})
	if rejected != nil {
		failed := Transition{At: k.config.Clock.Now(), UID: string(pod.UID), Phase: Failed}
		k.enqueue(write{uid: pod.UID, name: name, node: node, at: metav1.Now(), transition: failed, rejected: rejected})
		return
	}
	work, err := podOf(pod, k.startup(pod.UID))
	if err == nil {
		err = k.machines[node].Bind(work)
	}
	if err != nil {
		k.config.OnError(fmt.Errorf("pod %s: %w", name, err))
		k.changed(node, Transition{At: k.config.Clock.Now(), UID: string(pod.UID), Phase: Failed})
	}
}

// startup draws a pod's latency from its own stream, so that it does not depend
// on the order in which pods arrive.
func (k *kubelet) startup(uid types.UID) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(uid))
	return StartupLatency(rand.New(rand.NewPCG(k.config.Params.Seed, h.Sum64())))
}

// remove ends a pod that someone deleted and lets the API server forget it.
func (k *kubelet) remove(pod *corev1.Pod) {
	k.mu.Lock()
	t, ok := k.pods[pod.UID]
	if !ok {
		t = &tracked{name: nameOf(pod), node: pod.Spec.NodeName}
		k.pods[pod.UID] = t
	}
	again := t.deleting
	t.deleting = true
	k.release(t)
	k.mu.Unlock()
	if again {
		return
	}
	k.machines[t.node].Kill(string(pod.UID))
	k.enqueue(write{uid: pod.UID, name: t.name, node: t.node, remove: true})
}

// deleted ends a pod that vanished without warning, as by a forced deletion.
func (k *kubelet) deleted(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	k.mu.Lock()
	t, known := k.pods[pod.UID]
	if known {
		k.release(t)
		delete(k.pods, pod.UID)
	}
	k.mu.Unlock()
	killed := Transition{At: k.config.Clock.Now(), UID: string(pod.UID), Phase: Killed}
	switch {
	case !known && pod.Spec.NodeName == "":
		k.observe(nameOf(pod), "", killed)
	case known && !t.finished:
		k.machines[t.node].Kill(string(pod.UID))
		k.observe(t.name, t.node, killed)
	}
}

func (k *kubelet) observe(pod types.NamespacedName, node string, t Transition) {
	k.config.Observer(Event{Transition: t, Pod: pod, Node: node})
}

func nameOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

func containersOf(pod *corev1.Pod) []string {
	names := make([]string, len(pod.Spec.Containers))
	for i, c := range pod.Spec.Containers {
		names[i] = c.Name
	}
	return names
}

// changed is called by machines.
func (k *kubelet) changed(node string, t Transition) {
	if t.Phase == starting {
		return
	}
	k.mu.Lock()
	pod, ok := k.pods[types.UID(t.UID)]
	if !ok {
		k.mu.Unlock()
		return
	}
	if pod.finished = t.Phase != Running; pod.finished {
		k.release(pod)
	}
	// The API's times are for people, who live by the wall clock.
	at := metav1.Now()
	if k.config.Clock.Scale() == 1 {
		at = metav1.NewTime(t.At)
	}
	if t.Phase == Running {
		pod.started = at
	}
	w := write{uid: types.UID(t.UID), name: pod.name, node: node, containers: pod.containers, started: pod.started, at: at, transition: t}
	k.mu.Unlock()
	k.enqueue(w)
}

func (k *kubelet) enqueue(w write) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(w.uid))
	k.writers[h.Sum32()%kubeletWriters] <- w
}

func (k *kubelet) writeAll(ctx context.Context, queue <-chan write) {
	for {
		select {
		case <-ctx.Done():
			return
		case w := <-queue:
			err := k.write(ctx, w)
			for apierrors.IsTimeout(err) && ctx.Err() == nil { // a busy API server, which took long to say so
				err = k.write(ctx, w)
			}
			if err != nil && !gone(err) && ctx.Err() == nil {
				k.config.OnError(fmt.Errorf("pod %s: %w", w.name, err))
				continue
			}
			if !w.remove && ctx.Err() == nil {
				k.observe(w.name, w.node, w.transition)
			}
		}
	}
}

// gone reports whether the pod was deleted; a conflict means that another pod has its name now.
func gone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

func (k *kubelet) write(ctx context.Context, w write) error {
	pods := k.client.CoreV1().Pods(w.name.Namespace)
	if w.remove {
		// The UID guards a pod of the same name made since.
		options := metav1.NewPreconditionDeleteOptions(string(w.uid))
		options.GracePeriodSeconds = new(int64)
		return pods.Delete(ctx, w.name.Name, *options)
	}
	if w.transition.Phase == Killed {
		return nil
	}
	patch, err := statusPatch(w)
	if err != nil {
		return err
	}
	_, err = pods.Patch(ctx, w.name.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
