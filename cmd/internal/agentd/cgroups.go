package agentd

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// registerCgroups adds a gauge that says which control groups the node has, by
// which spazio check tells.
func registerCgroups(r *prometheus.Registry, root string) error {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "spazio_agent_cgroups",
		Help: "1 for the layout of the node's control groups: v2, hybrid, v1 or none.",
	}, []string{"layout"})
	g.WithLabelValues(telemetry.CgroupLayout(root)).Set(1)
	return r.Register(g)
}
