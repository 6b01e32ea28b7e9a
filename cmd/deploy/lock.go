package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// lockName is the Lease that an installation or removal holds meanwhile.
const lockName = "spazio-install"

// How often a lock is renewed, and after what time without that its holder is
// taken for dead. The lock itself has that time, which each process measures by its own clock.
const (
	lockRenewal = 5 * time.Second
	lockLife    = 30 * time.Second
)

// lifeOf returns how long a held lock lasts without being renewed.
func lifeOf(l *coordinationv1.Lease) time.Duration {
	if seconds := l.Spec.LeaseDurationSeconds; seconds != nil && *seconds > 0 {
		return time.Duration(*seconds) * time.Second
	}
	return lockLife
}

// errNoRoom is the error of a lock in a namespace that does not exist, or ends.
var errNoRoom = errors.New("the namespace is not there")

// alone calls a function while no other process installs or removes; it waits for another one
// until ctx ends. If the lock is lost, the function's context is cancelled.
func (c *Cluster) alone(ctx context.Context, options Options, something func(context.Context) error) error {
	l := &lock{
		leases: c.client.CoordinationV1().Leases(SystemNamespace), id: ID{coordinationv1.GroupName, "leases", SystemNamespace, lockName},
		holder: string(uuid.NewUUID()), pause: c.Pause,
	}
	if err := l.acquire(ctx, options); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		if err := l.renew(ctx); err != nil {
			cancel(err)
		}
	}()
	err := something(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = errors.Join(cause, err)
	}
	cancel(nil)
	<-renewed
	// The context may have ended, which is no reason to leave it locked.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), lockRenewal)
	defer stop()
	return errors.Join(err, l.release(ctx))
}

type lock struct {
	leases coordinationclient.LeaseInterface
	id     ID
	holder string
	pause  time.Duration
}

func (l *lock) lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: lockName, Labels: map[string]string{partOf: SchedulerName}},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &l.holder, LeaseDurationSeconds: new(int32(lockLife / time.Second)), RenewTime: &metav1.MicroTime{Time: time.Now()},
		},
	}
}

// acquire waits until the lock is free, or its holder has not renewed it for its life.
func (l *lock) acquire(ctx context.Context, options Options) error {
	var seen string // the version of the holder's last renewal
	var since time.Time
	for {
		_, err := l.leases.Create(ctx, l.lease(), metav1.CreateOptions{})
		switch {
		case err == nil:
			return nil
		case apierrors.IsNotFound(err), err != nil && terminating(err):
			return errNoRoom
		case !apierrors.IsAlreadyExists(err) && !passing(err):
			return fmt.Errorf("deploy: %s: %w", l.id, err)
		}
		held, err := l.leases.Get(ctx, lockName, metav1.GetOptions{})
		switch {
		case err == nil && held.ResourceVersion != seen:
			seen, since = held.ResourceVersion, time.Now()
			options.report(Step{l.id, Waiting, fmt.Sprintf("%v, or was killed less than %v ago", ErrBusy, lifeOf(held))})
		case err == nil && time.Since(since) > lifeOf(held):
			// Whoever else finds so deletes this version, or none.
			_ = l.leases.Delete(ctx, lockName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &seen}})
			continue
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("deploy: %s: %w: %w", l.id, ErrBusy, context.Cause(ctx))
		case <-time.After(l.pause):
		}
	}
}

// renew renews the lock until ctx ends. It returns an error if another process has taken it.
func (l *lock) renew(ctx context.Context) error {
	ticker := time.NewTicker(lockRenewal)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		held, err := l.leases.Get(ctx, lockName, metav1.GetOptions{})
		if err != nil {
			continue // the namespace is being removed, or the API server is away
		}
		if *held.Spec.HolderIdentity != l.holder {
			return fmt.Errorf("deploy: %s: %w", l.id, ErrBusy)
		}
		held.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		_, _ = l.leases.Update(ctx, held, metav1.UpdateOptions{})
	}
}

// release deletes the lock if it is still held.
func (l *lock) release(ctx context.Context) error {
	held, err := l.leases.Get(ctx, lockName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && *held.Spec.HolderIdentity != l.holder {
		return nil
	}
	if err == nil {
		err = l.leases.Delete(ctx, lockName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &held.UID}})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deploy: %s: %w", l.id, err)
	}
	return nil
}
