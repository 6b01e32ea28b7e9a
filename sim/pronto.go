package sim

import (
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/svd"
)

func nodePod(pod int32) node.PodID { return node.PodID(pod) }

// Pronto places a pod on any node that does not raise its rejection signal: each
// node tracks the principal directions of its load and rejects while the
// projections of it peak. It knows no counts of pods.
type Pronto struct {
	// Model configures the nodes' models; ten samples make a block.
	Model svd.Options
	// Spikes configures the search for peaks in the means of blocks.
	Spikes baseline.Spikes
}

type pronto struct {
	plain
	options Pronto
	agents  []prontoAgent
	rejects []bool // as the scheduler knows
}

type prontoAgent struct {
	model     svd.Model
	workspace svd.Workspace
	block     [][]float64
	vector    []float64
	spikes    []baseline.Spikes
	rejects   bool
}

func (o Pronto) build(c *cluster) (policy, error) {
	if err := o.Model.Validate(); err != nil {
		return nil, err
	}
	p := &pronto{plain: plain{c}, options: o, agents: make([]prontoAgent, len(c.nodes)), rejects: make([]bool, len(c.nodes))}
	for i := range p.agents {
		p.agents[i].spikes = []baseline.Spikes{o.Spikes, o.Spikes}
	}
	return p, nil
}

func (p *pronto) sample(m *machine) {
	a := &p.agents[m.index]
	r, ok := m.model.Read()
	if !ok {
		return
	}
	a.block = append(a.block, []float64{r.Utilisation, r.Memory})
	if len(a.block) < svd.DefaultBlock {
		return
	}
	p.c.fail(svd.UpdateTo(&a.model, a.model, a.block, p.options.Model, &a.workspace))
	rejects := a.peaks()
	a.block = a.block[:0]
	if rejects != a.rejects {
		a.rejects = rejects
		p.c.agenda.add(event{
			at: p.c.now + p.c.Latency, kind: reported, node: m.index, report: &report{rejects: rejects},
		})
	}
}

// peaks looks for one in the mean of the block along each direction.
func (a *prontoAgent) peaks() bool {
	peaks, sigma := make([]bool, a.model.Rank()), make([]float64, a.model.Rank())
	for i := range peaks {
		sigma[i] = a.model.Sigma(i)
		a.vector = a.model.VectorTo(a.vector, i)
		projection := 0.
		for _, y := range a.block {
			projection += (a.vector[0]*y[0] + a.vector[1]*y[1]) / float64(len(a.block))
		}
		peaks[i] = a.spikes[i].Step(projection)
	}
	return baseline.Rejects(peaks, sigma)
}

func (p *pronto) handle(e event) {
	if e.kind != reported {
		return
	}
	p.rejects[e.node] = e.report.rejects
	if !e.report.rejects {
		p.c.queue.epoch++
		p.c.queue.wake(len(p.c.queue.parked))
	}
}

func (p *pronto) admits(m *machine, _ int32) bool { return !p.rejects[m.index] }

// score leaves the choice to chance.
func (p *pronto) score(scores []float64, _ []int32, _ int32) { clear(scores) }
