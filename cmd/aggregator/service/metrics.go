package service

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
)

func newPushSeconds() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "spazio_aggregator_push_seconds",
		Help:    "Time to answer a push, without the wire.",
		Buckets: prometheus.ExponentialBuckets(1e-6, 2, 16),
	})
}

// observe times every call.
func observe(seconds prometheus.Histogram) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		began := time.Now()
		defer func() { seconds.Observe(time.Since(began).Seconds()) }()
		return handle(ctx, request)
	}
}
