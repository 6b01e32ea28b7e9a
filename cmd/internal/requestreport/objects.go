package requestreport

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
	"github.com/spazio-scheduler/spazio/profile/profiler/view"
)

// objects are what is kept of the API's objects, stripped as they arrive: the pods of a large cluster
// take a gigabyte.
type objects struct {
	nodes    map[string]*clusterNode
	pods     []boundPod
	profiles []knownProfile
	profiled map[profile.Workload]bool
	notes    []string
	seen     map[types.UID]bool // pods
	anyPod   bool
	agents   map[string]string // pods of agents by their nodes
	// measured are the pods for a profiler's Store, kept for recordings alone.
	measured     []profiler.Pod
	keepMeasured bool
	containers   map[profile.Workload][]string
	text         map[string]string
}

func newObjects(keepMeasured bool) *objects {
	return &objects{
		nodes: map[string]*clusterNode{}, profiled: map[profile.Workload]bool{}, seen: map[types.UID]bool{}, agents: map[string]string{},
		keepMeasured: keepMeasured, containers: map[profile.Workload][]string{}, text: map[string]string{},
	}
}

// intern returns one copy of equal strings, which share no memory with the objects they were read from.
func (o *objects) intern(s string) string {
	if kept, ok := o.text[s]; ok {
		return kept
	}
	s = string([]byte(s))
	o.text[s] = s
	return s
}

func amountsOf(list corev1.ResourceList) profile.Amounts {
	return profile.Amounts{CPU: list.Cpu().AsApproximateFloat64(), Memory: list.Memory().AsApproximateFloat64()}
}

func (o *objects) addNode(n *corev1.Node) {
	o.nodes[n.Name] = &clusterNode{
		Name: n.Name, Capacity: amountsOf(n.Status.Capacity), Allocatable: amountsOf(n.Status.Allocatable), Unschedulable: n.Spec.Unschedulable || isNotReady(n),
	}
}

// isNotReady reports whether a node's kubelet, or its silence, keeps pods away.
func isNotReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
}

// addPod keeps a pod that is bound and has not ended, once.
func (o *objects) addPod(p *corev1.Pod) {
	o.anyPod = true
	if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return
	}
	if o.seen[p.UID] {
		return // two lists have it
	}
	if p.UID != "" {
		o.seen[types.UID(strings.Clone(string(p.UID)))] = true
	}
	measured := controller.PodOf(p)
	w := profile.Workload{Namespace: o.intern(measured.Workload.Namespace), Kind: o.intern(measured.Workload.Kind), Name: o.intern(measured.Workload.Name)}
	node := o.intern(p.Spec.NodeName)
	requests := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true})
	o.pods = append(o.pods, boundPod{
		Workload: w, Node: node, Containers: o.share(w, measured.Names),
		Requests: amountsOf(requests), Floor: floorOf(p), Overhead: amountsOf(p.Spec.Overhead),
	})
	if o.keepMeasured {
		o.measured = append(o.measured, measured)
	}
	if isAgent(p) {
		o.agents[node] = p.Name
	}
}

// agentLabel and agentName mark the pods of agents.
const agentLabel, agentName = "app.kubernetes.io/name", "spazio-agent"

// isAgent reports whether a pod is the agent of its node, and stays.
func isAgent(p *corev1.Pod) bool {
	return p.Namespace == deploy.AgentNamespace && p.Labels[agentLabel] == agentName && p.DeletionTimestamp == nil
}

// floorOf is what the pod's init containers that end request at the most.
func floorOf(p *corev1.Pod) profile.Amounts {
	starting := corev1.Pod{}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			starting.Spec.InitContainers = append(starting.Spec.InitContainers, *c)
		}
	}
	return amountsOf(resourcehelper.PodRequests(&starting, resourcehelper.PodResourcesOptions{}))
}

// share returns the names, by the slice that the workload's other pods have if they are the same.
func (o *objects) share(w profile.Workload, names []string) []string {
	kept := o.containers[w]
	same := len(kept) == len(names)
	for i := 0; same && i < len(names); i++ {
		same = kept[i] == names[i]
	}
	if same {
		return kept
	}
	own := make([]string, len(names))
	for i, name := range names {
		own[i] = o.intern(name)
	}
	o.containers[w] = own
	return own
}

// addProfile keeps what a profile has found. One that no definition of ours lets through is left
// out, with a note.
func (o *objects) addProfile(p *v1alpha1.WorkloadProfile) {
	found, err := fromObject(p)
	if err != nil {
		o.notes = append(o.notes, fmt.Sprintf("The profile %s/%s cannot be read: %v.", p.Namespace, p.Name, err))
		return
	}
	if o.profiled[found.Workload] || found.Need == (profile.Demand{}) {
		return
	}
	o.profiled[found.Workload] = true
	o.profiles = append(o.profiles, found)
}

// read lists the API server's objects. Without nodes and pods there is no report; without profiles
// there is one that does not know what workloads need.
func (o *objects) read(ctx context.Context, config *rest.Config, timeout time.Duration) error {
	config = rest.CopyConfig(config)
	config.QPS, config.Timeout = -1, timeout // it asks one question after another
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("requestreport: %w", err)
	}
	each := func(what, fields string, list func(context.Context, metav1.ListOptions) (runtime.Object, error), add func(runtime.Object)) error {
		err := pager.New(list).EachListItem(ctx, metav1.ListOptions{FieldSelector: fields}, func(object runtime.Object) error {
			add(object)
			return nil
		})
		if err != nil {
			return fmt.Errorf("list %s: %w", what, err)
		}
		return nil
	}
	err = each("nodes", "", func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.CoreV1().Nodes().List(ctx, options)
	}, func(object runtime.Object) { o.addNode(object.(*corev1.Node)) })
	if err != nil {
		return err
	}
	const live = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
	err = each("pods", live, func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
	}, func(object runtime.Object) { o.addPod(object.(*corev1.Pod)) })
	if err != nil {
		return err
	}
	return o.readProfiles(ctx, config)
}

func (o *objects) readProfiles(ctx context.Context, config *rest.Config) error {
	client, err := view.NewClient(config)
	if err != nil {
		return err
	}
	all, err := client.List(ctx, metav1.NamespaceAll)
	switch {
	case apierrors.IsNotFound(err):
		o.notes = append(o.notes, "The cluster has no WorkloadProfiles: install the component profiles-observe to see what workloads need.")
		return nil
	case apierrors.IsForbidden(err):
		o.notes = append(o.notes, "You may not list WorkloadProfiles: what workloads need is unknown.")
		return nil
	case err != nil:
		return err
	}
	for i := range all {
		o.addProfile(&all[i])
	}
	return nil
}

// decode reads lists that kubectl has written.
func (o *objects) decode(r io.Reader) error {
	d := json.NewDecoder(bufio.NewReader(r))
	for {
		if err := o.decodeList(d); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return invalidObjects(err)
		}
	}
	if len(o.nodes) == 0 {
		return invalidObjects(errNoNodes)
	}
	if !o.anyPod {
		return invalidObjects(errNoPods)
	}
	return nil
}

var (
	errNoNodes = errors.New("it has no nodes")
	errNoPods  = errors.New("it has no pods")
)

func invalidObjects(err error) error {
	return &field.Error{Package: "requestreport", Field: "Objects", Value: "JSON", Err: fmt.Errorf("%w: must be what `kubectl get nodes,pods,workloadprofiles -A -o json` writes: %w", errInvalid, err)}
}

var errNoList = errors.New("it is no list of objects")

// decodeList reads one list, item by item; io.EOF is that there is none.
func (o *objects) decodeList(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		return errNoList
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return unexpected(err)
		}
		if key != "items" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return unexpected(err)
			}
			continue
		}
		if token, err = d.Token(); err != nil || token != json.Delim('[') {
			return errors.Join(errNoList, unexpected(err))
		}
		for d.More() {
			var item json.RawMessage
			if err := d.Decode(&item); err != nil {
				return unexpected(err)
			}
			if err := o.addItem(item); err != nil {
				return err
			}
		}
		if _, err = d.Token(); err != nil {
			return unexpected(err)
		}
	}
	_, err = d.Token()
	return unexpected(err)
}

// unexpected is the error of a list that ends within.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// addItem adds an object by its kind; other kinds are left out.
func (o *objects) addItem(item json.RawMessage) error {
	var of metav1.TypeMeta
	if err := json.Unmarshal(item, &of); err != nil {
		return err
	}
	switch of.Kind {
	case "Node":
		var n corev1.Node
		if err := json.Unmarshal(item, &n); err != nil {
			return err
		}
		o.addNode(&n)
	case "Pod":
		var p corev1.Pod
		if err := json.Unmarshal(item, &p); err != nil {
			return err
		}
		o.addPod(&p)
	case "WorkloadProfile":
		var p v1alpha1.WorkloadProfile
		if err := json.Unmarshal(item, &p); err != nil {
			return err
		}
		o.addProfile(&p)
	}
	return nil
}
