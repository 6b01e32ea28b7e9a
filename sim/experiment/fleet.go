package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// Names of fleets of 320 cores, of small, medium and large nodes and of all three.
const (
	small  = "80x4"
	medium = "20x16"
	large  = "5x64"
	mixed  = "16x4+8x16+2x64"
)

// fleetNames lists them.
func fleetNames() []string { return []string{small, medium, large, mixed} }

// maxFleet bounds the nodes of a fleet.
const maxFleet = 100_000

// sizesOf returns the cores of each node of a fleet: "16x4+2x64" is 16 nodes of 4 cores
// and two of 64. The error is a *NameError.
func sizesOf(fleet string) ([]int, error) {
	var sizes []int
	for part := range strings.SplitSeq(fleet, "+") {
		nodes, cores, ok := strings.Cut(part, "x")
		n, err := strconv.Atoi(nodes)
		size, sizeErr := strconv.Atoi(cores)
		if !ok || err != nil || sizeErr != nil || n < 1 || size < 1 || n > maxFleet-len(sizes) {
			return nil, &NameError{kind: "fleet (such as 16x4+2x64)", name: fleet}
		}
		sizes = append(sizes, slices.Repeat([]int{size}, n)...)
	}
	return sizes, nil
}

// complete fills in what follows from the fleet.
func (p *Params) complete(e Experiment) error {
	p.profiles()
	if p.Fleet != "" {
		var err error
		if p.sizes, err = sizesOf(p.Fleet); err != nil {
			return err
		}
		p.Nodes, p.Cores = len(p.sizes), p.sizes[0]
		if slices.Max(p.sizes) != slices.Min(p.sizes) {
			p.Cores = 0
		}
	} else {
		orElse(&p.Nodes, 19)
		orElse(&p.Cores, 4)
	}
	orElse(&p.Pods, e.defaults.Pods)
	orElse(&p.Pods, int(math.Round(e.perCore*p.cores())))
	return nil
}

// each is the cores of each node.
func (p Params) each() []int {
	if len(p.sizes) > 0 {
		return p.sizes
	}
	return slices.Repeat([]int{p.Cores}, p.Nodes)
}

// cores are those of the cluster.
func (p Params) cores() float64 {
	sum := 0
	for _, size := range p.each() {
		sum += size
	}
	return float64(sum)
}

// largest is what the largest node has for pods to request.
func (p Params) largest() baseline.Resources {
	n := node.Params{Cores: slices.Max(p.each())}.WithDefaults()
	memory := n.Memory * (1 - n.BaseMemory)
	if p.Overcommit == node.Evict {
		memory = math.Floor(memory - node.EvictionThreshold)
	}
	return baseline.Resources{CPU: float64(n.Cores), Memory: memory}
}

// Machines says in words what nodes the cluster has; Cores is 0 where they differ.
func (p Params) Machines() string {
	var parts []string
	sizes := p.each()
	for len(sizes) > 0 {
		n := 1
		for n < len(sizes) && sizes[n] == sizes[0] {
			n++
		}
		nodes := "nodes"
		if n == 1 {
			nodes = "node"
		}
		parts = append(parts, fmt.Sprintf("%d %s of %d cores", n, nodes, sizes[0]))
		sizes = sizes[n:]
	}
	return strings.Join(parts, ", ")
}
