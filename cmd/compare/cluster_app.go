package compare

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/cmd/compare/social"
	"github.com/spazio-scheduler/spazio/cmd/deploy"
)

// port is where the pods serve, in the network of each its own.
const port = 9710

// tierArgs are those of a replica, which calls other tiers by their services.
func tierArgs(tier string) []string {
	return []string{"--tier", tier, "--listen", fmt.Sprint(":", port), "--services", fmt.Sprintf("*.%s.svc:%d", Namespace, port)}
}

// pod returns a pod of a comparison by its arguments. The pods request no resources.
func (f *fleet) pod(name, scheduler string, args []string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: f.spec(scheduler, args)}
}

func (f *fleet) spec(scheduler string, args []string) corev1.PodSpec {
	user := int64(65532)
	return corev1.PodSpec{
		SchedulerName: scheduler, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
		TerminationGracePeriodSeconds: new(int64),
		NodeSelector:                  map[string]string{corev1.LabelOSStable: "linux"},
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: &user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: appName, Image: f.config.Image, Args: args, ImagePullPolicy: corev1.PullIfNotPresent,
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port}},
			ReadinessProbe: &corev1.Probe{
				ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(port)}},
				PeriodSeconds: 1,
			},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
}

// services are those of the tiers.
func services() (all []*corev1.Service) {
	for _, tier := range social.Tiers() {
		all = append(all, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: tier, Labels: tierLabels(tier)},
			Spec: corev1.ServiceSpec{
				Selector: tierLabels(tier),
				Ports:    []corev1.ServicePort{{Name: "http", Port: port, TargetPort: intstr.FromInt32(port)}},
			},
		})
	}
	return all
}

func tierLabels(tier string) map[string]string {
	return map[string]string{labelApp: appName, labelTier: tier}
}

// deployment is that of a tier.
func (f *fleet) deployment(tier, scheduler string) *appsv1.Deployment {
	replicas := int32(f.config.Replicas)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: tier, Labels: tierLabels(tier)},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: tierLabels(tier)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: tierLabels(tier), Annotations: map[string]string{controller: appName + "-" + tier}},
				Spec:       f.spec(scheduler, tierArgs(tier)),
			},
		},
	}
}

// deployed is the application in a cluster during a run. It is safe for concurrent use.
type deployed struct {
	fleet     *fleet
	scheduler string
	stop      func() // watching

	placed                        // by UID; created is when a pod was first seen without a node
	pods   map[string]*corev1.Pod // by UID
}

// newReplicas watches the application's pods, of which there are none yet.
func (f *fleet) newReplicas(ctx context.Context, scheduler string) (*deployed, error) {
	a := &deployed{fleet: f, scheduler: scheduler, placed: newPlaced(), pods: map[string]*corev1.Pod{}}
	factory := informers.NewSharedInformerFactoryWithOptions(f.client, 0, informers.WithNamespace(Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = labelApp + "=" + appName }))
	informer := factory.Core().V1().Pods().Informer()
	// A fresh informer accepts any handler.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: a.seen, UpdateFunc: func(_, now any) { a.seen(now) }, DeleteFunc: a.gone,
	})
	watching, cancel := context.WithCancel(ctx)
	factory.Start(watching.Done())
	a.stop = func() { cancel(); factory.Shutdown() }
	if !cache.WaitForCacheSync(watching.Done(), informer.HasSynced) {
		a.stop()
		return nil, context.Cause(ctx)
	}
	return a, nil
}

// seen is of a pod that is there.
func (a *deployed) seen(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	uid, now := string(pod.UID), time.Now()
	if _, known := a.pods[uid]; !known && pod.Spec.NodeName == "" {
		a.created[uid] = now
	}
	if created, waited := a.created[uid]; waited && pod.Spec.NodeName != "" {
		a.bound[uid] = now.Sub(created)
		delete(a.created, uid)
	}
	a.pods[uid] = pod
	a.wake()
}

func (a *deployed) gone(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pods, string(pod.UID))
	delete(a.created, string(pod.UID))
	a.wake()
}

// await waits until there are as many pods, all ready.
func (a *deployed) await(ctx context.Context, pods int) error {
	return a.until(ctx, func() (ok bool, far string) {
		ready, trouble := 0, ""
		for _, p := range a.pods {
			if isReady(p) && p.DeletionTimestamp == nil {
				ready++
			} else if trouble == "" {
				trouble = deploy.Trouble(*p)
			}
		}
		return ready == pods && len(a.pods) == pods, fmt.Sprintf("%d of %d: %s", ready, pods, trouble)
	})
}

// place makes the tiers and waits until all of their pods are ready.
func (a *deployed) place(ctx context.Context) error {
	for _, tier := range social.Tiers() {
		_, err := a.fleet.client.AppsV1().Deployments(Namespace).Create(ctx, a.fleet.deployment(tier, a.scheduler), metav1.CreateOptions{})
		if err != nil {
			return describe("make deployment "+tier, err)
		}
	}
	waiting, cancel := context.WithTimeout(ctx, placing)
	defer cancel()
	return a.await(waiting, len(replicas(a.fleet.config.Replicas)))
}

// remove ends all pods and waits until they are gone.
func (a *deployed) remove(ctx context.Context) error {
	background := metav1.DeletePropagationBackground
	for _, tier := range social.Tiers() {
		err := a.fleet.client.AppsV1().Deployments(Namespace).Delete(ctx, tier, metav1.DeleteOptions{PropagationPolicy: &background})
		if err != nil && !apierrors.IsNotFound(err) {
			return describe("remove deployment "+tier, err)
		}
	}
	return a.await(ctx, 0)
}

// kill ends a replica's pod at once; its Deployment makes it again. Replicas are numbered
// by their pods' age.
func (a *deployed) kill(ctx context.Context, r replica) error {
	name := a.name(r)
	if name == "" { // all of the tier are gone already
		return nil
	}
	err := a.fleet.client.CoreV1().Pods(Namespace).Delete(ctx, name, *metav1.NewDeleteOptions(0))
	if apierrors.IsNotFound(err) {
		return nil
	}
	return describe("kill pod "+name, err)
}

func (a *deployed) name(r replica) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.tier(r.tier)
	if len(of) == 0 {
		return ""
	}
	return of[r.number%len(of)].Name
}

// tier are its pods that are not being deleted, the oldest first. a.mu is held.
func (a *deployed) tier(tier string) (of []*corev1.Pod) {
	for _, p := range a.pods {
		if p.Labels[labelTier] == tier && p.DeletionTimestamp == nil {
			of = append(of, p)
		}
	}
	slices.SortFunc(of, func(p, q *corev1.Pod) int {
		if c := p.CreationTimestamp.Compare(q.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(p.Name, q.Name)
	})
	return of
}

// front returns the addresses of the front, whose pods are never killed.
func (a *deployed) front() (addresses []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.tier(social.Front) {
		addresses = append(addresses, net.JoinHostPort(p.Status.PodIP, strconv.Itoa(port)))
	}
	return addresses
}

// count is how many pods each node has.
func (a *deployed) count() map[string]float64 {
	pods := map[string]float64{}
	for _, node := range a.fleet.nodes {
		pods[node] = 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.pods {
		if p.Spec.NodeName != "" {
			pods[p.Spec.NodeName]++
		}
	}
	return pods
}
