package prediction

import (
	"fmt"
	"math"
)

// node is what was seen of one node, sample by sample. It is a plain value.
type node struct {
	Name string
	// Pressure is the contention that is to be foretold, in [0,1].
	Pressure []float64
	// Metrics are what signals are made of, of each sample as many.
	Metrics [][]float64
	// Churn has an entry a sample, which is set if a container started or stopped since the one
	// before; nil where that is not known.
	Churn []bool
}

// Source is nodes of one fleet, seen at the same times: ReadRecording, ReadSeries and Simulate make
// one. It is a plain value.
type Source struct {
	// name is short, about says where it is from and what its metrics are.
	name, about string
	// second is how many samples the evaluation takes for one second.
	second int
	// unit is what these are called: seconds, or what stands for them.
	unit  string
	nodes []node
}

// validate returns a *field.Error for the first field that is out of range.
func (s Source) validate() error {
	if s.second < 1 {
		return refuse("Second", s.second, "at least 1")
	}
	if len(s.nodes) == 0 {
		return refuse("Nodes", 0, "at least one")
	}
	for i, n := range s.nodes {
		field := func(name string) string { return fmt.Sprintf("Nodes[%d].%s", i, name) }
		length := len(n.Pressure)
		if length == 0 || length != len(s.nodes[0].Pressure) {
			return refuse(field("Pressure"), length, "as many samples as the other nodes have, at least one")
		}
		if len(n.Metrics) != length {
			return refuse(field("Metrics"), len(n.Metrics), "one of each sample")
		}
		if n.Churn != nil && len(n.Churn) != length {
			return refuse(field("Churn"), len(n.Churn), "one of each sample, or none")
		}
		for k, v := range n.Pressure {
			if !(v >= 0 && v <= 1) {
				return refuse(fmt.Sprintf("%s[%d]", field("Pressure"), k), v, "in [0,1]")
			}
			if len(n.Metrics[k]) == 0 || len(n.Metrics[k]) != len(s.nodes[0].Metrics[0]) {
				return refuse(fmt.Sprintf("%s[%d]", field("Metrics"), k), len(n.Metrics[k]), "as many as of other samples, at least one")
			}
			for _, m := range n.Metrics[k] {
				if math.IsNaN(m) || math.IsInf(m, 0) {
					return refuse(fmt.Sprintf("%s[%d]", field("Metrics"), k), m, "finite")
				}
			}
		}
	}
	return nil
}

// samples is how many there are of each node.
func (s Source) samples() int { return len(s.nodes[0].Pressure) }
