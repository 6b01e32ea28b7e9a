package sim

import (
	"context"
	"sync"
	"sync/atomic"
)

// Parallel calls do with each number below n, so many at a time, and returns when all calls have ended.
// After the first error, or the end of ctx, it begins no further call and returns that.
func Parallel(ctx context.Context, n, workers int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var begun atomic.Int64
	var running sync.WaitGroup
	for range max(workers, 1) {
		running.Go(func() {
			for i := int(begun.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(begun.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
