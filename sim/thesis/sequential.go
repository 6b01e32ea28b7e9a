package thesis

import (
	"errors"
	"time"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/svd"
)

// Policy names how the nodes' models are merged.
type Policy string

const (
	// PerNode is package aggregate's, and the default.
	PerNode Policy = "per-node"
	// Sequential merges each arriving model half and half into the global one, in
	// order of arrival (§4.3): the last to arrive weighs ½, the one before ¼. Only
	// newer arrivals make it forget.
	Sequential Policy = "sequential"
)

// errPolicy refuses a policy that does not exist, or what one can't do.
var errPolicy = errors.New("not of this policy")

// AggregateConfig is how the nodes' models are merged.
type AggregateConfig struct {
	// Policy is PerNode by default.
	Policy Policy
	aggregate.Options
}

// Validate returns a *field.Error for the first field out of its range.
func (c AggregateConfig) Validate() error {
	if c.Policy != "" && c.Policy != PerNode && c.Policy != Sequential {
		return &field.Error{Package: "thesis", Field: "Policy", Value: string(c.Policy), Err: errPolicy}
	}
	return c.Options.Validate()
}

// Aggregator merges the nodes' models; aggregate.Aggregator has the promises of its
// methods. It is not safe for concurrent use.
type Aggregator interface {
	Put(at time.Time, l aggregate.Local) (bool, error)
	Globals(at time.Time) ([]aggregate.Global, error)
}

// NewAggregator returns an Aggregator without nodes, or the error of Validate.
func NewAggregator(c AggregateConfig) (Aggregator, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	a, err := aggregate.New(c.Options)
	if err != nil || c.Policy != Sequential {
		return a, err
	}
	return &sequential{Aggregator: a, options: c.WithDefaults(), groups: map[group]*total{}}, nil
}

// sequential takes all but the models from an aggregate.Aggregator.
type sequential struct {
	*aggregate.Aggregator
	options aggregate.Options
	groups  map[group]*total
}

// A group is what the nodes' models have to have in common to be merged.
type group struct {
	schema string
	dim    int
}

// total is a merged model: the mean squares of its samples, row by row, and how many
// samples it counts as.
type total struct {
	squares []float64
	weight  float64
}

// Put refuses centred models, for which the thesis has no rule.
func (s *sequential) Put(at time.Time, l aggregate.Local) (bool, error) {
	if len(l.Model.Mean) > 0 {
		return false, &field.Error{Package: "thesis", Field: "Model.Mean", Value: len(l.Model.Mean), Err: errPolicy}
	}
	taken, err := s.Aggregator.Put(at, l)
	if err != nil || !taken {
		return taken, err
	}
	key := group{l.Schema, l.Model.Dim}
	if s.groups[key] == nil {
		s.groups[key] = &total{squares: make([]float64, l.Model.Dim*l.Model.Dim)}
	}
	most := float64(s.options.Block) / (1 - s.options.Forgetting)
	s.groups[key].enter(l.Model, min(l.Model.Mass*float64(l.Model.Block), most))
	return true, nil
}

// enter is G ← ½G + ½Gᵢ, of the first G ← Gᵢ.
func (t *total) enter(m svd.State, weight float64) {
	if weight < 1e-12 { // its share would be lost by underflow
		return
	}
	arriving := make([]float64, len(t.squares)) // UΣ²Uᵀ/b
	for k, sigma := range m.Sigma {
		u := m.U[k*m.Dim : (k+1)*m.Dim]
		energy := sigma * sigma / float64(m.Block)
		if energy < 1e-100 { // so would its digits, and the rest is no larger
			break
		}
		for i, ui := range u {
			for j, uj := range u[:i+1] {
				arriving[i*m.Dim+j] += energy * ui * uj
			}
		}
	}
	if t.weight == 0 {
		copy(t.squares, arriving)
		t.weight = weight
		return
	}
	for i, v := range arriving {
		t.squares[i] = t.squares[i]/2 + v/2
	}
	t.weight = t.weight/2 + weight/2
}

// Globals returns the models as merged in order of arrival; what the last node to
// arrive may pull them by has no bound.
func (s *sequential) Globals(at time.Time) ([]aggregate.Global, error) {
	globals, err := s.Aggregator.Globals(at)
	kept := map[group]*total{}
	for i := range globals {
		g := &globals[i]
		key := group{g.Schema, g.Dim}
		t := s.groups[key]
		if t == nil || t.weight == 0 {
			continue
		}
		kept[key] = t
		model, merr := t.model(g.Dim, s.options.Block)
		if merr != nil {
			return nil, errors.Join(err, merr)
		}
		g.Model = model
	}
	s.groups = kept // without those of which all nodes were forgotten
	return globals, err
}

func (t *total) model(dim, block int) (svd.Model, error) {
	full := make([]float64, dim*dim)
	for i := range dim {
		for j := range i + 1 {
			v := float64(block) * t.squares[i*dim+j]
			full[i*dim+j], full[j*dim+i] = v, v
		}
	}
	return svd.FromMoments(dim, block, t.weight/float64(block), full)
}
