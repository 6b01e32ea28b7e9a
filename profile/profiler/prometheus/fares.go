package prometheus

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/prometheus/common/model"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
)

// The queries of how services fare. Istio's proxies on both ends count a request, those
// of the caller alone count here; of the kubelet's the containers of a pod are weighed
// by their periods. What two scrapers or two replicas of the server say alike counts once,
// and so does a proxy that is scraped at two of its ports, or as two of its pod's containers:
// its host, without the port, is what it is known by.
const (
	flowQuery = `sum by (source_workload, source_workload_namespace, destination_workload, destination_workload_namespace)` +
		` (max without (instance, container, port, job, endpoint, service, monitor, prometheus, prometheus_replica, replica, __replica__)` +
		` (label_replace(rate(istio_%s_bytes_sum{reporter="source"}[%ds]), "host", "$1", "instance", "(.+?)(:[0-9]+)?")))`
)

// Flows are the bytes a second between workloads in a span of time that ended at a time,
// by Istio's metrics, which do not have their kinds. Errors name the query.
func (h *History) Flows(ctx context.Context, at time.Time, span time.Duration) ([]connection.Flow, error) {
	type pair struct{ from, to profile.Workload }
	index := map[pair]int{}
	var flows []connection.Flow
	for _, way := range []string{"request", "response"} {
		samples, err := h.instant(ctx, fmt.Sprintf(flowQuery, way, seconds(span)), at)
		if err != nil {
			return nil, err
		}
		for _, s := range samples {
			from := profile.Workload{Namespace: string(s.Metric["source_workload_namespace"]), Name: string(s.Metric["source_workload"])}
			to := profile.Workload{Namespace: string(s.Metric["destination_workload_namespace"]), Name: string(s.Metric["destination_workload"])}
			rate := float64(s.Value)
			if !known(from) || !known(to) || !(rate >= 0) || rate > most {
				h.dropped.Add(1)
				continue
			}
			i, there := index[pair{from, to}]
			if !there {
				i = len(flows)
				index[pair{from, to}] = i
				flows = append(flows, connection.Flow{From: from, To: to})
			}
			if way == "request" {
				flows[i].Request = rate
			} else {
				flows[i].Response = rate
			}
		}
	}
	return flows, nil
}

// known reports that a workload has a name: Istio calls one that it does not know unknown.
func known(w profile.Workload) bool {
	return w.Namespace != "" && w.Namespace != "unknown" && w.Name != "" && w.Name != "unknown"
}

func seconds(span time.Duration) int64 { return max(int64(math.Ceil(span.Seconds())), 1) }

// instant asks one query.
func (h *History) instant(ctx context.Context, query string, at time.Time) (model.Vector, error) {
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-ctx.Done():
		return nil, queryError(query, context.Cause(ctx))
	}
	value, _, err := h.api.Query(ctx, query, at)
	if err != nil {
		return nil, queryError(query, err)
	}
	vector, ok := value.(model.Vector)
	if !ok {
		return nil, queryError(query, fmt.Errorf("%w: it is a %T", errAnswer, value))
	}
	for i, s := range vector {
		if s == nil {
			return nil, queryError(query, fmt.Errorf("%w: sample %d is none", errAnswer, i))
		}
	}
	return vector, nil
}
