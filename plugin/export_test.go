package plugin

import (
	"context"

	"github.com/spazio-scheduler/spazio/profile/v1alpha1"
)

// Learn takes in a profile as the informer brings it, for benchmarks.
func (h *Hub) Learn(p *v1alpha1.WorkloadProfile) { h.profileSeen(context.Background(), p) }
