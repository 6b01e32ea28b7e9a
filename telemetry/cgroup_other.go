//go:build !linux

package telemetry

import "context"

const inotifySupported = false

// Run returns ErrUnsupported.
func (p *CgroupPods) Run(context.Context, func(PodEvent)) error { return ErrUnsupported }
