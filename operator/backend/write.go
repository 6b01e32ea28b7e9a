package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// CreateScheduling implements server.Store.
func (s *Store) CreateScheduling(ctx context.Context, caller server.Caller, namespace, name string, spec wire.SchedulingSpec) (wire.Scheduling, error) {
	o := &v1alpha1.Scheduling{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{v1alpha1.AnnotationAuthor: caller.Name}},
		Spec:       storedSpec(namespace, &spec),
	}
	err := s.Client.Create(ctx, o)
	problem := problemOf(err, "scheduling", namespace, name, false)
	if apierrors.IsAlreadyExists(err) {
		there := &v1alpha1.Scheduling{}
		if err := s.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, there); err != nil {
			return wire.Scheduling{}, problem // gone meanwhile, or not to be had now
		}
		return schedulingOf(there), problem
	}
	if err != nil {
		return wire.Scheduling{}, problem
	}
	s.await(ctx, o)
	return schedulingOf(o), nil
}

// patchOp is an operation of RFC 6902.
type patchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch sets a field of an object, if it is at the version, or at any if that is empty.
// Finalizers and all that others write stay as they are.
func (s *Store) patch(ctx context.Context, o client.Object, version string, path string, value any) error {
	ops := []patchOp{{"add", path, value}}
	if version != "" {
		// What differs from the stored one is a conflict.
		ops = append(ops, patchOp{"replace", "/metadata/resourceVersion", version})
	}
	data, err := json.Marshal(ops)
	if err != nil {
		return err
	}
	return s.Client.Patch(ctx, o, client.RawPatch(types.JSONPatchType, data))
}

// ReplaceScheduling implements server.Store.
func (s *Store) ReplaceScheduling(ctx context.Context, _ server.Caller, namespace, name string, version string, spec wire.SchedulingSpec) (wire.Scheduling, error) {
	o := &v1alpha1.Scheduling{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := s.patch(ctx, o, version, "/spec", storedSpec(namespace, &spec)); err != nil {
		return wire.Scheduling{}, problemOf(err, "scheduling", namespace, name, version != "")
	}
	s.await(ctx, o)
	return schedulingOf(o), nil
}

// DeleteScheduling implements server.Store.
func (s *Store) DeleteScheduling(ctx context.Context, _ server.Caller, namespace, name string, version string) error {
	o := &v1alpha1.Scheduling{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	options := []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}
	if version != "" {
		options = append(options, client.Preconditions{ResourceVersion: &version})
	}
	if err := s.Client.Delete(ctx, o, options...); err != nil {
		return problemOf(err, "scheduling", namespace, name, version != "")
	}
	s.awaitDeletion(ctx, o)
	return nil
}

// SetExternal implements server.Store.
func (s *Store) SetExternal(ctx context.Context, _ server.Caller, namespace, name string, version string, data json.RawMessage) (wire.Job, error) {
	job, err := s.setExternal(ctx, namespace, name, version, data)
	if err != nil {
		return wire.Job{}, problemOf(err, "job", namespace, name, version != "")
	}
	return jobOf(job), nil
}

func (s *Store) setExternal(ctx context.Context, namespace, name string, version string, data json.RawMessage) (*v1alpha1.BatchJob, error) {
	o := &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := s.patch(ctx, o, version, "/spec/externalScheduler", data); err != nil {
		return nil, err
	}
	s.await(ctx, o)
	return o, nil
}

// contention is how often an update is tried anew: of a job that starts the status is
// written several times a second.
var contention = wait.Backoff{Steps: 12, Duration: 5 * time.Millisecond, Factor: 1.7, Jitter: 0.5, Cap: time.Second}

// UpdateExternal implements server.Store.
func (s *Store) UpdateExternal(ctx context.Context, _ server.Caller, namespace, name string, version string, edit func(json.RawMessage) (json.RawMessage, error)) (wire.Job, error) {
	var job *v1alpha1.BatchJob
	err := retry.RetryOnConflict(contention, func() error {
		now := &v1alpha1.BatchJob{}
		if err := s.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, now); err != nil {
			return err
		}
		if version != "" && now.ResourceVersion != version {
			return outdated("job")
		}
		data, err := edit(rawOf(now.Spec.ExternalScheduler))
		if err != nil {
			return err
		}
		job, err = s.setExternal(ctx, namespace, name, now.ResourceVersion, data)
		if apierrors.IsConflict(err) && version != "" {
			return outdated("job")
		}
		return err
	})
	if err != nil {
		return wire.Job{}, problemOf(err, "job", namespace, name, false)
	}
	return jobOf(job), nil
}

// Plan implements server.Store: see controller.Foresee. What the caller may not
// see, and the Scheduling may not use, is treated as if it did not exist.
func (s *Store) Plan(ctx context.Context, caller server.Caller, namespace, name string, spec wire.SchedulingSpec) (wire.Plan, error) {
	switch err := s.Synced(); {
	case err != nil:
		return wire.Plan{}, err
	case !s.follows(namespace):
		return wire.Plan{}, server.Refuse(http.StatusNotFound, fmt.Sprintf("spazio-testbed runs no jobs in namespace %s.", namespace))
	}
	return s.plan(ctx, caller, namespace, name, &spec)
}
