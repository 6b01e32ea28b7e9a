package slots_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/plugin/slots"
)

// The fake watch panics at so many unread events.
func init() { watch.DefaultChanSize = 1 << 12 }

// profile has all extension points of the plugin.
type profile interface {
	fwk.PreFilterPlugin
	fwk.FilterPlugin
	fwk.PostFilterPlugin
	fwk.ScorePlugin
	fwk.ReservePlugin
	fwk.BindPlugin
	fwk.EnqueueExtensions
	fwk.SignPlugin
}

// world is an API of pods, nodes and BatchJobs and a scheduler around the plugin. The plugin gets a
// change of a pod before the call that makes it returns, and changes of BatchJobs through an informer.
type world struct {
	t       testing.TB
	options slots.Options
	args    config.SpazioSlotsArgs
	client  *fake.Clientset
	jobs    *jobStore
	pods    cache.Indexer
	nodes   map[string]v1.ResourceList
	// assumed are the nodes of reserved pods, as in the scheduler's cache, until the API has them.
	assumed map[types.UID]string
	// cordoned are nodes that another plugin refuses; looked counts the visited nodes.
	cordoned map[string]bool
	looked   int

	profile
	factory  *slots.Factory
	handlers []cache.ResourceEventHandler
	stop     func()

	mu        sync.Mutex
	now       time.Time
	activated []string
	deleted   []string
	// noDelete and noBind are the API's errors for the next deletions and bindings.
	noDelete, noBind []error
}

func newWorld(t testing.TB) *world {
	w := &world{
		t: t, jobs: newJobStore(), nodes: make(map[string]v1.ResourceList), assumed: make(map[types.UID]string),
		pods: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		now:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	w.client = fake.NewClientset()
	w.client.PrependReactor("delete", "pods", w.deletion)
	w.client.PrependReactor("create", "pods", w.binding)
	t.Cleanup(func() {
		if w.stop != nil {
			w.stop()
		}
	})
	return w
}

// start starts a scheduler that replaces the previous one.
func (w *world) start() {
	w.t.Helper()
	w.begin()
	eventually(w.t, "the plugin is ready", w.factory.Ready)
}

// begin is start without waiting.
func (w *world) begin() {
	w.t.Helper()
	if w.stop != nil {
		w.stop()
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.options.Now = w.time
	if w.options.Retry == 0 {
		w.options.Retry = time.Millisecond
	}
	w.handlers, w.assumed = nil, make(map[types.UID]string)
	w.factory = slots.NewFactoryWith(w.jobs, w.options)
	w.stop = sync.OnceFunc(func() { cancel(); w.factory.Wait() })
	made, err := w.factory.New(ctx, &w.args, w.handle())
	if err != nil {
		w.t.Fatal(err)
	}
	w.profile = made.(profile)
}

func (w *world) handle() fwk.Handle { return &handle{world: w} }

func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// woken returns the pods activated since the last call, by name.
func (w *world) woken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := w.activated
	w.activated = nil
	slices.Sort(names)
	return names
}

// gone returns the pods deleted by the plugin since the last call, as NAME grace SECONDS.
func (w *world) gone() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := w.deleted
	w.deleted = nil
	return names
}

// put creates or changes a pod.
func (w *world) put(pod *v1.Pod) *v1.Pod {
	key := pod.Namespace + "/" + pod.Name
	before, known, err := w.pods.GetByKey(key)
	if err == nil {
		err = w.pods.Update(pod)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range w.handlers {
		if known {
			h.OnUpdate(before, pod)
		} else {
			h.OnAdd(pod, false)
		}
	}
	return pod
}

// remove deletes a pod; missed wraps it as after a watch that missed the deletion.
func (w *world) remove(pod *v1.Pod, missed bool) {
	current := w.current(pod.Namespace, pod.Name)
	if current == nil || current.UID != pod.UID {
		return
	}
	if err := w.pods.Delete(current); err != nil {
		w.t.Fatal(err)
	}
	delete(w.assumed, pod.UID)
	var last any = current
	if missed {
		last = cache.DeletedFinalStateUnknown{Obj: current}
	}
	for _, h := range w.handlers {
		h.OnDelete(last)
	}
}

func (w *world) current(namespace, name string) *v1.Pod {
	obj, known, _ := w.pods.GetByKey(namespace + "/" + name)
	if !known {
		return nil
	}
	return obj.(*v1.Pod)
}

// bound returns the pod as the API has it after it was bound to a slot.
func bound(pod *v1.Pod, slot string) *v1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.NodeName, _, _ = strings.Cut(slot, "/")
	pod.Annotations = map[string]string{slots.AnnotationSlot: slot}
	return pod
}

func (w *world) take(list *[]error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(*list) == 0 {
		return nil
	}
	err := (*list)[0]
	*list = (*list)[1:]
	return err
}

var podResource = schema.GroupResource{Resource: "pods"}

// deletion behaves like an API server.
func (w *world) deletion(action clienttesting.Action) (bool, runtime.Object, error) {
	d := action.(clienttesting.DeleteActionImpl)
	if err := w.take(&w.noDelete); err != nil {
		return true, nil, err
	}
	pod := w.current(d.Namespace, d.Name)
	o := d.DeleteOptions
	if o.Preconditions == nil || o.Preconditions.UID == nil || o.GracePeriodSeconds == nil {
		w.t.Errorf("%s was deleted without preconditions: %+v", d.Name, o)
		return true, nil, errors.New("not like this")
	}
	switch {
	case pod == nil:
		return true, nil, apierrors.NewNotFound(podResource, d.Name)
	case pod.UID != *o.Preconditions.UID:
		return true, nil, apierrors.NewConflict(podResource, d.Name, errors.New("the UID differs"))
	}
	w.mu.Lock()
	w.deleted = append(w.deleted, fmt.Sprintf("%s grace %d", d.Name, *o.GracePeriodSeconds))
	w.mu.Unlock()
	if *o.GracePeriodSeconds > 0 {
		pod = pod.DeepCopy()
		pod.DeletionTimestamp = &metav1.Time{Time: w.time()}
		w.put(pod)
		return true, nil, nil
	}
	w.remove(pod, false)
	return true, nil, nil
}

// binding behaves like an API server.
func (w *world) binding(action clienttesting.Action) (bool, runtime.Object, error) {
	b, ok := action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
	if !ok {
		return false, nil, nil
	}
	if err := w.take(&w.noBind); err != nil {
		return true, nil, err
	}
	pod := w.current(action.GetNamespace(), b.Name)
	if pod == nil || pod.UID != b.UID {
		return true, nil, apierrors.NewNotFound(podResource, b.Name)
	}
	pod = pod.DeepCopy()
	pod.Spec.NodeName = b.Target.Name
	for name, value := range b.Annotations {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, name, value)
	}
	w.put(pod)
	return true, nil, nil
}

// handle is the part of kube-scheduler's handle that the plugin uses.
type handle struct {
	fwk.Handle
	world *world
}

func (h *handle) SharedInformerFactory() informers.SharedInformerFactory {
	return factory{world: h.world}
}
func (h *handle) KubeConfig() *rest.Config               { return nil }
func (h *handle) ClientSet() kubernetes.Interface        { return h.world.client }
func (h *handle) ProfileName() string                    { return "spazio-slots" }
func (h *handle) APICacher() fwk.APICacher               { return nil }
func (h *handle) SharedDRAManager() fwk.SharedDRAManager { return nil }
func (h *handle) SnapshotSharedLister() fwk.SharedLister { return lister{world: h.world} }
func (h *handle) Activate(_ klog.Logger, pods map[string]*v1.Pod) {
	h.world.mu.Lock()
	defer h.world.mu.Unlock()
	for _, pod := range pods {
		h.world.activated = append(h.world.activated, pod.Name)
	}
}

// lister is the scheduler's snapshot; factory, group, version and informer are its informer of pods.
type (
	lister struct {
		fwk.SharedLister
		fwk.NodeInfoLister
		world *world
	}
	factory struct {
		informers.SharedInformerFactory
		world *world
	}
	group struct {
		coreinformers.Interface
		world *world
	}
	version struct {
		corev1informers.Interface
		world *world
	}
	informer struct {
		cache.SharedIndexInformer
		world *world
	}
	registration struct {
		cache.ResourceEventHandlerRegistration
	}
)

func (l lister) NodeInfos() fwk.NodeInfoLister { return l }
func (l lister) Get(name string) (fwk.NodeInfo, error) {
	if _, known := l.world.nodes[name]; !known {
		return nil, errors.New("no such node")
	}
	return l.world.info(name), nil
}
func (f factory) Core() coreinformers.Interface        { return group{world: f.world} }
func (g group) V1() corev1informers.Interface          { return version{world: g.world} }
func (v version) Pods() podInformer                    { return informer{world: v.world} }
func (i informer) Lister() listers.PodLister           { return listers.NewPodLister(i.world.pods) }
func (i informer) Informer() cache.SharedIndexInformer { return i }
func (registration) HasSynced() bool                   { return true }
func (i informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.world.handlers = append(i.world.handlers, h)
	for _, obj := range i.world.pods.List() {
		h.OnAdd(obj, true)
	}
	return registration{}, nil
}

// info returns the scheduler's view of a node.
func (w *world) info(name string) fwk.NodeInfo {
	i := &nodeInfo{node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, allocatable: amounts(w.nodes[name])}
	for _, obj := range w.pods.List() {
		pod := obj.(*v1.Pod)
		if ended(pod) { // kube-scheduler lists no such pods
			continue
		}
		if pod.Spec.NodeName == name || w.assumed[pod.UID] == name {
			i.add(pod)
		}
	}
	return i
}

func ended(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

type nodeInfo struct {
	fwk.NodeInfo
	node                   *v1.Node
	allocatable, requested amounts
	pods                   []fwk.PodInfo
}

func (i *nodeInfo) add(pod *v1.Pod) {
	if i.requested == nil {
		i.requested = amounts{}
	}
	requests := amounts{}
	for _, c := range pod.Spec.Containers {
		for name, q := range c.Resources.Requests {
			for _, sum := range []amounts{requests, i.requested} {
				total := sum[name]
				total.Add(q)
				sum[name] = total
			}
		}
	}
	i.pods = append(i.pods, podInfo{pod: pod, requests: requests})
}

func (i *nodeInfo) Node() *v1.Node               { return i.node }
func (i *nodeInfo) GetPods() []fwk.PodInfo       { return i.pods }
func (i *nodeInfo) GetRequested() fwk.Resource   { return i.requested }
func (i *nodeInfo) GetAllocatable() fwk.Resource { return i.allocatable }

type podInfo struct {
	fwk.PodInfo
	pod      *v1.Pod
	requests amounts
}

func (i podInfo) GetPod() *v1.Pod                    { return i.pod }
func (i podInfo) CalculateResource() fwk.PodResource { return fwk.PodResource{Resource: i.requests} }

// amounts is an fwk.Resource.
type amounts v1.ResourceList

func (a amounts) of(name v1.ResourceName) int64  { q := a[name]; return q.Value() }
func (a amounts) GetMilliCPU() int64             { q := a[v1.ResourceCPU]; return q.MilliValue() }
func (a amounts) GetMemory() int64               { return a.of(v1.ResourceMemory) }
func (a amounts) GetEphemeralStorage() int64     { return a.of(v1.ResourceEphemeralStorage) }
func (a amounts) GetAllowedPodNumber() int       { return int(a.of(v1.ResourcePods)) }
func (a amounts) SetMaxResource(v1.ResourceList) {}
func (a amounts) GetScalarResources() map[v1.ResourceName]int64 {
	scalars := map[v1.ResourceName]int64{}
	for name := range a {
		if strings.Contains(string(name), "/") {
			scalars[name] = a.of(name)
		}
	}
	return scalars
}

// list parses resources such as "cpu 2 memory 1Gi".
func list(text string) v1.ResourceList {
	words, out := strings.Fields(text), v1.ResourceList{}
	for i := 0; i < len(words); i += 2 {
		out[v1.ResourceName(words[i])] = resource.MustParse(words[i+1])
	}
	return out
}

// node adds a node.
func (w *world) node(name, allocatable string) { w.nodes[name] = list("pods 110 " + allocatable) }

// cycleState is the part of a CycleState that the plugin uses.
type cycleState struct {
	fwk.CycleState
	data sync.Map
}

func (s *cycleState) Read(key fwk.StateKey) (fwk.StateData, error) {
	if v, ok := s.data.Load(key); ok {
		return v.(fwk.StateData), nil
	}
	return nil, fwk.ErrNotFound
}
func (s *cycleState) Write(key fwk.StateKey, v fwk.StateData) { s.data.Store(key, v) }

// try runs a scheduling cycle up to Reserve, as kube-scheduler does, and another one if the plugin has
// the pod tried again at once.
func (w *world) try(pod *v1.Pod) (*cycleState, string, *fwk.Status) {
	state, node, status := w.find(pod)
	if status.IsRejected() && w.triedAgain(state, pod) {
		state, node, status = w.find(pod)
	}
	if !status.IsSuccess() {
		return state, "", status
	}
	w.assumed[pod.UID] = node
	if status := w.Reserve(context.Background(), state, pod, node); !status.IsSuccess() {
		w.Unreserve(context.Background(), state, pod, node)
		delete(w.assumed, pod.UID)
		return state, "", status
	}
	return state, node, nil
}

// triedAgain runs the steps after no node was found, and reports whether the plugin has the pod tried
// again.
func (w *world) triedAgain(state *cycleState, pod *v1.Pod) bool {
	before := w.woken()
	if _, status := w.PostFilter(context.Background(), state, pod, nil); status.Code() != fwk.Unschedulable {
		w.t.Errorf("PostFilter: %v", status)
	}
	after := w.woken()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.activated = before // activations of other pods
	return slices.Equal(after, []string{pod.Name})
}

// find runs a scheduling cycle up to the choice of a node.
func (w *world) find(pod *v1.Pod) (*cycleState, string, *fwk.Status) {
	ctx, state := context.Background(), &cycleState{}
	result, status := w.PreFilter(ctx, state, pod, nil)
	if !status.IsSuccess() {
		return state, "", status
	}
	var scores fwk.NodeScoreList
	var names []string
	for name := range w.nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	var refused *fwk.Status
	for _, name := range names {
		if !result.AllNodes() && !result.NodeNames.Has(name) || !affine(pod, name) {
			continue
		}
		w.looked++
		if w.cordoned[name] {
			refused = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "cordoned")
			continue
		}
		if status := w.Filter(ctx, state, pod, w.info(name)); !status.IsSuccess() {
			refused = status
			continue
		}
		score, status := w.Score(ctx, state, pod, w.info(name))
		if !status.IsSuccess() {
			w.t.Fatal(status.AsError())
		}
		scores = append(scores, fwk.NodeScore{Name: name, Score: score})
	}
	if len(scores) == 0 {
		if refused == nil {
			refused = fwk.NewStatus(fwk.Unschedulable, "no node")
		}
		return state, "", refused
	}
	if status := w.ScoreExtensions().NormalizeScore(ctx, state, pod, scores); !status.IsSuccess() {
		w.t.Fatal(status.AsError())
	}
	best := slices.MaxFunc(scores, func(a, b fwk.NodeScore) int { return int(a.Score - b.Score) })
	if best.Score != 100 {
		w.t.Errorf("the best of %v lacks a part of the score", scores)
	}
	return state, best.Name, nil
}

// affine is NodeAffinity's decision for placeholders.
func affine(pod *v1.Pod, node string) bool {
	if pod.Labels[slots.LabelRole] != slots.RolePlaceholder {
		return true
	}
	on, _, _ := strings.Cut(pod.Annotations[slots.AnnotationSlot], "/")
	return on == node
}

// bind runs a binding cycle.
func (w *world) bind(ctx context.Context, state *cycleState, pod *v1.Pod, node string) *fwk.Status {
	status := w.Bind(ctx, state, pod, node)
	delete(w.assumed, pod.UID)
	if !status.IsSuccess() {
		w.Unreserve(ctx, state, pod, node)
	}
	return status
}

// place schedules and binds the pod, and returns its slot, or the reason for none.
func (w *world) place(pod *v1.Pod) string {
	state, node, status := w.try(pod)
	if status.IsSuccess() {
		status = w.bind(context.Background(), state, pod, node)
	}
	if !status.IsSuccess() {
		return status.Message()
	}
	return w.current(pod.Namespace, pod.Name).Annotations[slots.AnnotationSlot]
}

func asking(pod *v1.Pod, requests string) *v1.Pod {
	pod.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: list(requests)}}}
	return pod
}

// placeholderOf returns the unbound placeholder of a slot of the testbed 71fe.
func placeholderOf(slot, requests string) *v1.Pod {
	name := "placeholder-" + strings.ReplaceAll(slot, "/", "-")
	return asking(&v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "lab", Name: name, UID: types.UID("uid-" + name),
		Labels:      map[string]string{slots.LabelRole: slots.RolePlaceholder, slots.LabelTestbedUID: "71fe"},
		Annotations: map[string]string{slots.AnnotationSlot: slot},
	}}, requests)
}

// placeholders adds bound placeholders.
func (w *world) placeholders(requests string, names ...string) {
	for _, name := range names {
		g := placeholderOf(name, requests)
		g.Spec.NodeName, _, _ = strings.Cut(name, "/")
		w.put(g)
	}
}

// podOf returns a pod of the job's first attempt.
func podOf(job, name, requests string) *v1.Pod {
	return asking(&v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID("uid-" + name),
		Labels: map[string]string{
			slots.LabelRole: slots.RoleSlot, slots.LabelTestbedUID: "71fe", slots.LabelBatchJobUID: "uid-" + job, slots.LabelAttempt: "1",
		},
	}}, requests)
}

// jobOf returns a BatchJob with slots of the testbed 71fe of the given size.
func jobOf(name string, attempt int64, holds string, ids ...string) *unstructured.Unstructured {
	resources := map[string]any{}
	for name, q := range list(holds) {
		resources[string(name)] = q.String()
	}
	named := make([]any, len(ids))
	for i := range ids {
		named[i] = ids[i]
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"jobSpec": map[string]any{}},
		"status": map[string]any{"state": "Submitted", "creationRequest": map[string]any{
			"testbed": map[string]any{"namespace": "lab", "name": "small", "uid": "71fe"}, "slots": named,
			"resources": resources, "replication": int64(len(ids)), "attempt": attempt,
		}},
	}}
	o.SetAPIVersion(slots.Group + "/" + slots.Version)
	o.SetKind("BatchJob")
	o.SetNamespace("default")
	o.SetName(name)
	o.SetUID(types.UID("uid-" + name))
	return o
}

// jobStore is the part of an API server that stores BatchJobs.
type jobStore struct {
	mu      sync.Mutex
	missing error
	version int
	objects map[string]*unstructured.Unstructured
	watches []*watch.RaceFreeFakeWatcher
}

func newJobStore() *jobStore { return &jobStore{objects: make(map[string]*unstructured.Unstructured)} }

func (s *jobStore) List(metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.missing != nil {
		return nil, s.missing
	}
	all := &unstructured.UnstructuredList{}
	all.SetResourceVersion(fmt.Sprint(s.version))
	for _, o := range s.objects {
		all.Items = append(all.Items, *o.DeepCopy())
	}
	return all, nil
}

func (s *jobStore) Watch(o metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.SendInitialEvents != nil { // as an API server without support for it
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil)
	}
	if s.missing != nil {
		return nil, s.missing
	}
	// From the version on, as an API server: changes between list and watch are not lost.
	w := watch.NewRaceFreeFake()
	if o.ResourceVersion != fmt.Sprint(s.version) {
		for _, known := range s.objects {
			w.Modify(known.DeepCopy())
		}
	}
	s.watches = append(s.watches, w)
	return w, nil
}

func (s *jobStore) put(o *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	o.SetResourceVersion(fmt.Sprint(s.version))
	_, known := s.objects[o.GetName()]
	s.objects[o.GetName()] = o
	for _, w := range s.watches {
		if known {
			w.Modify(o.DeepCopy())
		} else {
			w.Add(o.DeepCopy())
		}
	}
}

func (s *jobStore) remove(o *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	o.SetResourceVersion(fmt.Sprint(s.version))
	delete(s.objects, o.GetName())
	for _, w := range s.watches {
		w.Delete(o.DeepCopy())
	}
}

// lose makes the API server answer everything with an error; nil ends that.
func (s *jobStore) lose(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missing = err
	for _, w := range s.watches {
		w.Stop()
	}
	s.watches = nil
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
