package controller

import (
	"context"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler/resize"
)

// scaling is what a horizontal autoscaler does.
type scaling struct {
	of profile.Workload
	by resize.Scaling
}

// scalers are the horizontal autoscalers. Safe for concurrent use.
type scalers struct {
	*index[scaling]
	client rest.Interface

	mu sync.Mutex
	// by is made anew after a change.
	by map[profile.Workload]resize.Scaling
}

func newScalers(c *Controller) (*scalers, error) {
	client, err := typedClient(c.config.REST, "/apis", autoscalingv2.SchemeGroupVersion, autoscalingv2.AddToScheme)
	if err != nil {
		return nil, err
	}
	s := &scalers{client: client}
	s.index = &index[scaling]{read: func(object any) (made scaling, ok bool) {
		if h, is := object.(*autoscalingv2.HorizontalPodAutoscaler); is {
			made.of, made.by = resize.ScalingOf(h)
		}
		return made, made.by != resize.Scaling{}
	}, changed: func(before, after *scaling) {
		if before != nil && after != nil && *before == *after {
			return // a status, every fifteen seconds
		}
		s.mu.Lock()
		s.by = nil
		s.mu.Unlock()
		// Their profiles say so.
		for _, of := range []*scaling{before, after} {
			if of != nil {
				c.config.Store.Again(time.Now(), of.of)
			}
		}
	}}
	return s, nil
}

func (s *scalers) follow(ctx context.Context, c *Controller) {
	c.follow(ctx, listWatch(s.client, "horizontalpodautoscalers", ""), "horizontalpodautoscalers", &autoscalingv2.HorizontalPodAutoscaler{}, s.index)
}

// scaling is by what a workload is scaled.
func (s *scalers) scaling(of profile.Workload) resize.Scaling {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[profile.Workload]resize.Scaling{}
		for _, name := range s.names() {
			if one, ok := s.get(name); ok {
				s.by[one.of] = s.by[one.of].Or(one.by)
			}
		}
	}
	return s.by[of]
}
