package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/plugin/internal/informer"
	"github.com/spazio-scheduler/spazio/plugin/internal/optional"
)

// profilesRetry is how often an API server is asked again that has no WorkloadProfiles, or does
// not let them be read.
const profilesRetry = 5 * time.Minute

// profiling is how profiles are followed. They are off until the API server has delivered all of
// them.
type profiling struct {
	source cache.ListerWatcher
	on     atomic.Bool
}

func (p *profiling) off() bool { return !p.on.Load() }

// profileSource returns where the profiles are listed and watched, or nil if they are not to be
// used.
func (h *Hub) profileSource(args SpazioArgs, handle fwk.Handle) (cache.ListerWatcher, error) {
	switch {
	case args.Profiles == config.ProfilesOff:
		return nil, nil
	case h.options.Profiles != nil:
		return h.options.Profiles, nil
	case handle.KubeConfig() == nil:
		return nil, nil
	}
	// This client uses JSON, whatever the scheduler uses, because the API server serves custom
	// resources in no other form.
	c := rest.CopyConfig(handle.KubeConfig())
	c.APIPath, c.GroupVersion, c.NegotiatedSerializer = "/apis", &v1alpha1.GroupVersion, v1alpha1.Codecs
	c.ContentType, c.AcceptContentTypes = "application/json", "application/json"
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("client for workload profiles: %w", err)
	}
	return cache.NewListWatchFromClient(client, v1alpha1.Profiles, metav1.NamespaceAll, fields.Everything()), nil
}

// followProfiles keeps what is known about workloads up to date until ctx ends.
func (h *Hub) followProfiles(ctx context.Context) {
	if h.profiling.source == nil {
		return
	}
	logger, logged := klog.FromContext(ctx), false
	profiles := optional.Kind{
		Source: h.profiling.source, Object: &v1alpha1.WorkloadProfile{}, Strip: stripProfile, Retry: cmp.Or(h.options.ProfilesRetry, profilesRetry),
		Handler: informer.Handler(func(p *v1alpha1.WorkloadProfile) { h.profileSeen(ctx, p) }, func(p *v1alpha1.WorkloadProfile) {
			h.learn(p.Spec.Workload.In(p.Namespace), nil)
		}),
		Synced: func() {
			h.profiling.on.Store(true)
			h.updateAllDemands()
			h.introduceAll()
		},
		Ended: func(err error) {
			h.forgetProfiles()
			cause := interruptedError
			if optional.Absent(err) {
				cause = interruptedAbsent
			}
			h.metrics.interruptions[cause].Inc()
			if !logged { // logged once until they are there again
				logger.Info("Workload profiles are off: every pod counts as a typical one", "reason", err)
			}
			logged = !errors.Is(err, optional.ErrGone)
		},
	}
	profiles.Follow(ctx)
	h.forgetProfiles()
}

// forgetProfiles makes every pod count as a typical one.
func (h *Hub) forgetProfiles() {
	h.profiling.on.Store(false)
	for _, of := range h.workloads.known() {
		h.learn(of, nil)
	}
}

// stripProfile keeps what a scheduler reads of a profile.
func stripProfile(obj any) (any, error) {
	p, ok := obj.(*v1alpha1.WorkloadProfile)
	if !ok {
		return obj, nil
	}
	return &v1alpha1.WorkloadProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, ResourceVersion: p.ResourceVersion},
		Spec:       v1alpha1.WorkloadProfileSpec{Workload: p.Spec.Workload, Mode: p.Spec.Mode},
		Status:     v1alpha1.WorkloadProfileStatus{ObservedAt: p.Status.ObservedAt, Demand: p.Status.Demand},
	}, nil
}

// profileSeen takes in a profile. An invalid one counts as none. One whose name is not that of
// its workload is not the profiler's and is ignored.
func (h *Hub) profileSeen(ctx context.Context, p *v1alpha1.WorkloadProfile) {
	of := p.Spec.Workload.In(p.Namespace)
	if p.Name != v1alpha1.NameOf(of) {
		return
	}
	read, err := estimateOf(p)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Workload profile not taken", "profile", klog.KObj(p))
		h.learn(of, nil)
		return
	}
	h.learn(of, &read)
}

// updateAllDemands updates the demand of the pods that entered the ledger before the profiles were
// known.
func (h *Hub) updateAllDemands() {
	h.enterAll()
	for _, of := range h.workloads.known() {
		h.updateDemands(of)
	}
}
