package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	nodeutil "sigs.k8s.io/descheduler/pkg/descheduler/node"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/relief"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Reasons of events: of evicted pods, of nodes that evictions did not help, and of pods whose end is
// overdue.
const (
	nodeOvercommitted       = "NodeOvercommitted"
	nodeStaysOvercommitted  = "NodeStaysOvercommitted"
	podStuckTerminating     = "PodStuckTerminating"
	leftAloneAction         = "LeftAlone"
	leftAloneNote           = "its room is %.1f typical pods, and evictions do not help: pods that can move do not make its load; it is left alone until %s"
	evicting, wouldEvict    = "Evicted pod", "Would evict pod"
	notEvicted, notRelieved = "Pod not evicted", "Overcommitted node not relieved"
)

// reliever is the plugin SpazioRelief, a BalancePlugin. The descheduler calls it from one goroutine.
type reliever struct {
	service *Descheduler
	handle  frameworktypes.Handle
	planner *relief.Planner
	budgets policylisters.PodDisruptionBudgetLister
	// logged is what was last logged about each node, announced the Until of its last event, and stuck
	// are the terminating pods that were reported.
	logged    map[string]outcome
	announced map[string]time.Time
	stuck     map[reserve.PodKey]bool
	start     time.Time
}

// outcome is what a decision comes to. Equal ones are logged once.
type outcome struct {
	reason relief.Reason
	pod    reserve.PodKey
	until  time.Time
}

func newReliever(d *Descheduler, object runtime.Object, handle frameworktypes.Handle) (*reliever, error) {
	args, ok := object.(*reliefArgs)
	if !ok {
		return nil, fmt.Errorf("arguments of %s: %T", ReliefPlugin, object)
	}
	o, err := args.options()
	if err != nil {
		return nil, err
	}
	if d.config.Cycle > o.Interval {
		return nil, &field.Error{Package: "descheduler", Field: "Cycle", Value: d.config.Cycle, Err: fmt.Errorf("%w: must be at most the interval of %s, %v", ErrInvalid, ReliefPlugin, o.Interval)}
	}
	o.Rules = d.config.Args.Rules()
	planner, err := relief.NewPlanner(o)
	if err != nil {
		return nil, err
	}
	return &reliever{
		service: d, handle: handle, planner: planner, budgets: handle.SharedInformerFactory().Policy().V1().PodDisruptionBudgets().Lister(),
		logged: make(map[string]outcome), announced: make(map[string]time.Time), start: time.Now(),
	}, nil
}

// Name implements frameworktypes.Plugin.
func (r *reliever) Name() string { return ReliefPlugin }

// Balance implements frameworktypes.BalancePlugin: it evicts what the planner decides. Nodes that are not
// among these, such as those that are not ready, are neither relieved nor relied on.
func (r *reliever) Balance(ctx context.Context, nodes []*v1.Node) *frameworktypes.Status {
	if !r.service.hub.Ready() {
		return nil
	}
	byName := make(map[string]*v1.Node, len(nodes))
	for _, n := range nodes {
		byName[n.Name] = n
	}
	pods := make(map[reserve.PodKey]*v1.Pod)
	measured, budgets := r.service.hub.MeasuredNodes(), sync.OnceValue(r.listBudgets)
	known, names := make([]relief.Node, len(measured)), make(map[string]bool, len(measured))
	for i := range measured {
		m := &measured[i]
		var err error
		if known[i], err = r.node(m, byName[m.Name], pods, budgets); err != nil {
			return &frameworktypes.Status{Err: err}
		}
		names[m.Name] = true
	}
	maps.DeleteFunc(r.logged, func(name string, _ outcome) bool { return !names[name] })
	maps.DeleteFunc(r.announced, func(name string, _ time.Time) bool { return !names[name] })
	now := r.now()
	decisions := r.planner.Plan(now, known, func(pod *relief.Pod, node string) bool {
		n := byName[node]
		return n != nil && nodeutil.NodeFit(ctx, r.handle.GetPodsAssignedToNodeFunc(), pods[pod.Key], n) == nil
	})
	for _, d := range decisions {
		r.carryOut(ctx, now, d, pods[d.Pod.Key], byName[d.Node])
	}
	r.reportStuck(ctx, now, known, decisions, pods)
	return nil
}

// now returns the time in whole seconds, as the API has pods' creation, which the planner compares with
// the time of an eviction. It passes evenly even if the clock is set.
func (r *reliever) now() time.Time {
	return r.start.Add(time.Since(r.start)).Truncate(time.Second)
}

// node returns a node as the planner takes it, and adds the pods that it may evict to pods. Object is
// nil for a node that is not to be looked at.
func (r *reliever) node(m *plugin.MeasuredNode, object *v1.Node, pods map[reserve.PodKey]*v1.Pod, budgets func() budgets) (relief.Node, error) {
	n := relief.Node{Name: m.Name, IsMeasured: m.IsMeasured && object != nil, Signal: m.Signal, Flight: m.Flight, TasksWait: m.TasksWait}
	if object != nil {
		n.MemoryPressure = hasMemoryPressure(object)
	}
	bound, err := podutil.ListPodsOnANode(m.Name, r.handle.GetPodsAssignedToNodeFunc(), func(pod *v1.Pod) bool {
		return pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed
	})
	if err != nil {
		return n, fmt.Errorf("descheduler: pods of %s: %w", m.Name, err)
	}
	// The pods of other nodes need not be judged.
	isFull := m.Refuses && n.IsMeasured && r.planner.IsTooFull(&n)
	for _, pod := range bound {
		key := reserve.KeyOf(string(pod.UID))
		p := relief.Pod{
			Key: key, Created: pod.CreationTimestamp.Time, Running: runningSince(pod), Priority: priority(pod), DeletionCost: deletionCost(pod),
			Demand: r.service.hub.Demand(pod), Terminating: pod.DeletionTimestamp != nil,
		}
		if owner := metav1.GetControllerOf(pod); owner != nil {
			p.Owner = string(owner.UID)
		}
		if isFull {
			pods[key] = pod
			p.Evictable = r.isEvictable(pod, budgets)
		}
		n.Pods = append(n.Pods, p)
	}
	return n, nil
}

// carryOut evicts the pod of a decision, or logs why it is not. An outcome that lasts is logged once.
func (r *reliever) carryOut(ctx context.Context, now time.Time, d relief.Decision, pod *v1.Pod, node *v1.Node) {
	o := outcome{d.Reason, d.Pod.Key, d.Until}
	repeated := r.logged[d.Node] == o
	r.logged[d.Node] = o
	log := klog.FromContext(ctx).WithValues("node", d.Node, "room", d.Room)
	switch d.Reason {
	case relief.Evict:
		log = log.WithValues("pod", klog.KObj(pod), "target", d.Target, "overcommittedSince", d.Since)
		err := r.handle.Evictor().Evict(ctx, pod, evictions.EvictOptions{StrategyName: ReliefPlugin, Reason: nodeOvercommitted})
		switch {
		case isLimit(err): // the next cycle begins anew
			if !repeated {
				log.Info(notEvicted, "reason", err)
			}
		case err != nil:
			r.planner.Failed(now, d)
			log.Error(err, notEvicted)
		case !r.service.config.DryRun:
			r.planner.Evicted(now, d)
			log.Info(evicting)
		case !repeated:
			log.Info(wouldEvict)
		}
	case relief.LeftAlone:
		if !repeated {
			log.Info(notRelieved, "reason", d.Reason, "until", d.Until)
		}
		if r.service.recorder != nil && node != nil && !r.announced[d.Node].Equal(d.Until) {
			r.announced[d.Node] = d.Until
			r.service.recorder.Eventf(node, nil, v1.EventTypeWarning, nodeStaysOvercommitted, leftAloneAction, leftAloneNote, d.Room, d.Until.UTC().Format(time.RFC3339))
		}
	case relief.NoContention, relief.ClusterLimit, relief.NoSet:
		if !repeated {
			log.Info(notRelieved, "reason", d.Reason, "pods", reasons(d.Pods))
		}
	case relief.HasRoom, relief.Unmeasured:
		delete(r.logged, d.Node)
	}
}

// isLimit reports whether the policy allows no further eviction in this cycle. The API server was not
// asked.
func isLimit(err error) bool {
	_, node := errors.AsType[*evictions.EvictionNodeLimitError](err)
	_, namespace := errors.AsType[*evictions.EvictionNamespaceLimitError](err)
	_, total := errors.AsType[*evictions.EvictionTotalLimitError](err)
	return node || namespace || total
}

// reasons counts the reasons of a node's pods.
func reasons(pods []relief.PodDecision) map[string]int {
	counts := make(map[string]int)
	for _, p := range pods {
		counts[p.Reason.String()]++
	}
	return counts
}

func hasMemoryPressure(node *v1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeMemoryPressure {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// runningSince returns since when all containers of a pod run, the zero time if they do not.
func runningSince(pod *v1.Pod) (since time.Time) {
	statuses := pod.Status.ContainerStatuses
	if len(statuses) < len(pod.Spec.Containers) {
		return time.Time{}
	}
	for _, s := range statuses {
		if s.State.Running == nil {
			return time.Time{}
		}
		if at := s.State.Running.StartedAt.Time; at.After(since) {
			since = at
		}
	}
	return since
}

func priority(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// deletionCost is 0 where the annotation is absent or no number, as for a ReplicaSet.
func deletionCost(pod *v1.Pod) int32 {
	cost, err := strconv.ParseInt(pod.Annotations[v1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int32(cost)
}
