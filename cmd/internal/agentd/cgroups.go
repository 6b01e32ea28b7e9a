package agentd

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// Register adds the metrics that spazio-agent has besides those of its node.Agent: the build, and the
// layout of the node's control groups, which spazio check reads.
func Register(r prometheus.Registerer, cgroupRoot string) error {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "spazio_agent_cgroups",
		Help: "1 for the layout of the node's control groups: v2, hybrid, v1 or none.",
	}, []string{"layout"})
	g.WithLabelValues(telemetry.CgroupLayout(cgroupRoot)).Set(1)
	return errors.Join(build.Register(r, "spazio-agent"), r.Register(g))
}
