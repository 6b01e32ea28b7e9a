package agentd

import (
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
)

// registerCgroups adds a gauge that says which control groups the node has, by
// which spazio check tells.
func registerCgroups(r *prometheus.Registry, root string) error {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "spazio_agent_cgroups",
		Help: "1 for the layout of the node's control groups: v2, hybrid, v1 or none.",
	}, []string{"layout"})
	g.WithLabelValues(cgroupLayout(root)).Set(1)
	return r.Register(g)
}

// cgroupLayout tells the layouts apart as systemd does.
func cgroupLayout(root string) string {
	there := func(path ...string) bool {
		_, err := os.Stat(filepath.Join(append([]string{root}, path...)...))
		return err == nil
	}
	switch {
	case there("cgroup.controllers"):
		return "v2"
	case there("unified", "cgroup.controllers"):
		return "hybrid"
	case there("cpu"), there("cpu,cpuacct"), there("pids"):
		return "v1"
	}
	return "none"
}
