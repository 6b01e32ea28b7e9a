package telemetry

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrNoPods is that a source reports no pod at all although the cgroups hold containers of
// pods: it asks another runtime, another namespace of the runtime, or about another node.
var ErrNoPods = errors.New("the source reports no pod, and there are containers of pods")

// checkedPods is the source that CheckPods returns.
type checkedPods struct {
	source PodSource
	config CgroupConfig
	// reports is true while the source reports a pod.
	reports atomic.Bool
	blind   atomic.Pointer[error]
}

// CheckPods returns a source that does not read cgroups, checked against those of c, of which
// it uses Root, Rescan and Logger: once each Rescan while it reports no pod. PodSourceHealth
// of it is the source's own, or wraps ErrNoPods after two checks have found that. Where the
// cgroups can't be seen nothing contradicts the source. The error is a *FieldError.
func CheckPods(source PodSource, c CgroupConfig) (PodSource, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &checkedPods{source: source, config: c.withDefaults()}, nil
}

// Health is for PodSourceHealth.
func (p *checkedPods) Health() error {
	if err := PodSourceHealth(p.source); err != nil {
		return err
	}
	if err := p.blind.Load(); err != nil && !p.reports.Load() {
		return *err
	}
	return nil
}

// Run implements PodSource.
func (p *checkedPods) Run(ctx context.Context, notify func(PodEvent)) error {
	ctx, cancel := context.WithCancel(ctx)
	checked := make(chan struct{})
	go func() {
		defer close(checked)
		p.check(ctx)
	}()
	defer func() {
		cancel()
		<-checked
	}()
	return p.source.Run(ctx, func(e PodEvent) {
		if e.Changed {
			p.reports.Store(len(e.Pods) > 0)
		}
		notify(e)
	})
}

// check looks for containers of pods while the source reports none, until ctx ends. A pod
// that starts or ends is in the cgroups for a moment longer: it takes two looks.
func (p *checkedPods) check(ctx context.Context) {
	ticker := time.NewTicker(p.config.Rescan)
	defer ticker.Stop()
	for looks := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if p.reports.Load() || !p.hasContainers() {
			looks = 0
			p.blind.Store(nil)
			continue
		}
		if looks++; looks == 2 {
			err := fmt.Errorf("telemetry: %w below %s: is it the right socket, namespace and node name?", ErrNoPods, p.config.Root)
			p.blind.Store(&err)
			p.config.Logger.Warn("pods of the node are not seen", "err", err)
		}
	}
}

func (p *checkedPods) hasContainers() bool {
	tree, _, _ := findKubelet(p.config.Root)
	return tree.use == treeContainers
}
