package svd_test

import (
	"errors"
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/svd"
)

// A node whose pods use three times as much processor as memory.
func Example() {
	samples := [][]float64{ // processor, memory
		{0.30, 0.10}, {0.60, 0.20}, {0.45, 0.15}, {0.30, 0.10}, {0.60, 0.20},
	}
	model, err := svd.Update(svd.Model{}, samples, svd.Options{Block: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("direction %.3f\n", model.DirectionTo(nil))
	fmt.Printf("one more typical load takes %.3f\n", model.DemandTo(nil))
	// Output:
	// direction [0.949 0.316]
	// one more typical load takes [0.470 0.157]
}

// The load moves from the first channel to the second. Each block counts half
// of the next: of an energy of .64 times 2 a block, the first holds a third
// after two blocks and a seventh after three.
func ExampleUpdate() {
	first := [][]float64{{0.8, 0}, {0.8, 0}}
	then := [][]float64{{0, 0.8}, {0, 0.8}}
	opt := svd.Options{Block: 2}

	var model svd.Model
	for _, block := range [][][]float64{first, then, then} {
		var err error
		if model, err = svd.Update(model, block, opt); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("σ = %.3f %.3f, u₁ = %.3f, mass %.2f\n",
			model.Sigma(0), model.Sigma(1), model.DirectionTo(nil), model.Mass())
	}
	// Output:
	// σ = 1.131 0.000, u₁ = [1.000 0.000], mass 1.00
	// σ = 0.924 0.653, u₁ = [0.000 1.000], mass 1.50
	// σ = 1.047 0.428, u₁ = [0.000 1.000], mass 1.75
}

// A loop that allocates nothing once its buffers have grown.
func ExampleUpdateTo() {
	var model svd.Model
	var ws svd.Workspace
	block := [][]float64{{0.3, 0.4}, {0.3, 0.4}}
	for range 1000 {
		if err := svd.UpdateTo(&model, model, block, svd.Options{Block: 2}, &ws); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("demand %.2f, mass %.2f\n", model.DemandTo(nil), model.Mass())
	// Output: demand [0.30 0.40], mass 2.00
}

// A rejected block says what is wrong with it and leaves the model alone.
func ExampleUpdate_refused() {
	_, err := svd.Update(svd.Model{}, [][]float64{{0.3, 0.4}, {0.3, math.NaN()}}, svd.Options{})
	fmt.Println(err)

	fmt.Println(errors.Is(err, svd.ErrNotFinite))
	// Output:
	// svd: samples[1][1] = NaN: not finite
	// true
}

func ExampleFromState_refused() {
	_, err := svd.FromState(svd.State{Dim: 1, Block: 10, U: []float64{1}, Sigma: []float64{-2}})
	fmt.Println(errors.Is(err, svd.ErrRange), err)
	// Output: true svd: Sigma[0] = -2: out of range
}

// A half-life of 8 blocks, and samples that must be shares of a whole.
func ExampleOptions_Validate() {
	opt := svd.Options{HalfLife: 8, Unit: true}
	fmt.Println(opt.Validate())
	opt.Beta = 1
	fmt.Println(opt.Validate())
	// Output:
	// <nil>
	// svd: HalfLife = 8: out of range
}

// Two nodes with the same load in different channels; one has seen three
// times as much.
func ExampleMerge() {
	of := func(y []float64, mass float64) svd.Model {
		m, err := svd.Update(svd.Model{}, [][]float64{y}, svd.Options{Block: 1})
		if err != nil {
			fmt.Println(err)
		}
		s := m.State()
		s.Mass = mass
		m, _ = svd.FromState(s)
		return m
	}
	fleet, err := svd.Merge(of([]float64{1, 0}, 3), of([]float64{0, 1}, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("λ = %.2f %.2f, mass %g\n", fleet.Sigma(0)*fleet.Sigma(0), fleet.Sigma(1)*fleet.Sigma(1), fleet.Mass())
	// Output: λ = 0.75 0.25, mass 4
}

// An aggregator accumulates models in place.
func ExampleMergeTo() {
	node, err := svd.Update(svd.Model{}, [][]float64{{0.6, 0.8}}, svd.Options{Block: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	var fleet svd.Model // the identity
	var ws svd.Workspace
	for range 5 {
		if err := svd.MergeTo(&fleet, fleet, node, &ws); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("demand %.2f, mass %g\n", fleet.DemandTo(nil), fleet.Mass())
	// Output: demand [0.60 0.80], mass 5
}

// A node gives half of the weight to what the others experience.
func ExampleBlend() {
	opt := svd.Options{Block: 1}
	local, _ := svd.Update(svd.Model{}, [][]float64{{0.8, 0}}, opt)
	global, _ := svd.Update(svd.Model{}, [][]float64{{0, 0.6}}, opt)
	for _, share := range []float64{0, 0.5, 1} {
		m, err := svd.Blend(local, global, share)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("share %.1f: σ = %.3f %.3f\n", share, m.Sigma(0), m.Sigma(1))
	}
	// Output:
	// share 0.0: σ = 0.800 0.000
	// share 0.5: σ = 0.566 0.424
	// share 1.0: σ = 0.600 0.000
}

func ExampleBlendTo() {
	opt := svd.Options{Block: 1}
	local, _ := svd.Update(svd.Model{}, [][]float64{{0.8, 0.8}}, opt)
	var effective svd.Model
	var ws svd.Workspace
	// A fleet that has no model yet leaves the local one as it is.
	if err := svd.BlendTo(&effective, local, svd.Model{}, 0.5, &ws); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f\n", effective.DemandTo(nil))
	// Output: [0.80 0.80]
}

// A model survives a restart, or travels, as plain data.
func ExampleFromState() {
	model, _ := svd.Update(svd.Model{}, [][]float64{{0.6, 0.8}}, svd.Options{Block: 1})
	state := model.State()
	fmt.Printf("d=%d b=%d mass=%g σ=%.1f\n", state.Dim, state.Block, state.Mass, state.Sigma)

	back, err := svd.FromState(state)
	fmt.Println(back.Equal(model), err)
	// Output:
	// d=2 b=1 mass=1 σ=[1.0 0.0]
	// true <nil>
}

func ExampleState_Validate() {
	s := svd.State{Dim: 2, Block: 10, Mass: 1, U: []float64{1, 0, 1, 0}, Sigma: []float64{2, 1}}
	fmt.Println(errors.Is(s.Validate(), svd.ErrOrthonormal))
	// Output: true
}

// Second moments add up, so an aggregator can keep the sum of its nodes.
func ExampleFromMoments() {
	opt := svd.Options{Block: 1}
	a, _ := svd.Update(svd.Model{}, [][]float64{{1, 0}}, opt)
	b, _ := svd.Update(svd.Model{}, [][]float64{{0, 0.5}}, opt)
	mean := a.MomentsTo(nil)
	for i, g := range b.MomentsTo(nil) {
		mean[i] = (mean[i] + g) / 2
	}
	fleet, err := svd.FromMoments(2, 1, a.Mass()+b.Mass(), mean)
	if err != nil {
		fmt.Println(err)
		return
	}
	merged, _ := svd.Merge(a, b)
	fmt.Printf("%.4f %.4f\n", fleet.Sigma(0), fleet.Sigma(1))
	fmt.Printf("%.4f %.4f\n", merged.Sigma(0), merged.Sigma(1))
	// Output:
	// 0.7071 0.3536
	// 0.7071 0.3536
}

func ExampleModel_MomentsTo() {
	m, _ := svd.Update(svd.Model{}, [][]float64{{1, 0}, {1, 1}}, svd.Options{Block: 2})
	fmt.Printf("%.0f\n", m.MomentsTo(nil))
	// Output: [2 1 1 1]
}

// Two channels that are never active together have no unique direction; the
// rule takes both alike.
func ExampleModel_DirectionTo() {
	m, _ := svd.Update(svd.Model{}, [][]float64{{1, 0}, {0, 1}}, svd.Options{})
	fmt.Printf("%.4f\n", m.DirectionTo(nil))
	// Output: [0.7071 0.7071]
}

func ExampleModel_DemandTo() {
	m, _ := svd.Update(svd.Model{}, [][]float64{{0.2, 0.1}, {0.2, 0.1}}, svd.Options{})
	demand := make([]float64, 2)
	fmt.Printf("%.2f\n", m.DemandTo(demand))
	// Output: [0.20 0.10]
}

// Two channels that idle at 50 % and rise and fall together: centred, the
// model distinguishes the swing from the level.
func ExampleModel_MeanTo() {
	samples := [][]float64{{0.4, 0.45}, {0.6, 0.55}, {0.4, 0.45}, {0.6, 0.55}}
	model, err := svd.Update(svd.Model{}, samples, svd.Options{Block: 4, Centre: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("mean %.2f, deviation %.2f\n", model.MeanTo(nil), model.DemandTo(nil))

	// Models that are centred and models that are not do not mix.
	_, err = svd.Update(model, samples, svd.Options{Block: 4})
	fmt.Println(model.Centred(), errors.Is(err, svd.ErrCentring))
	// Output:
	// mean [0.50 0.50], deviation [0.10 0.05]
	// true true
}

// Two nodes that each never vary: what varies is the load between them.
func ExampleMerge_centred() {
	opt := svd.Options{Block: 2, Centre: true}
	a, _ := svd.Update(svd.Model{}, [][]float64{{0.2, 0.1}, {0.2, 0.1}}, opt)
	b, _ := svd.Update(svd.Model{}, [][]float64{{0.6, 0.1}, {0.6, 0.1}}, opt)
	fleet, err := svd.Merge(a, b)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("mean %.1f, deviation %.1f\n", fleet.MeanTo(nil), fleet.DemandTo(nil))
	// Output: mean [0.4 0.1], deviation [0.2 0.0]
}

// Of three directions two hold 98 % of the energy.
func ExampleModel_Explained() {
	samples := [][]float64{{0.6, 0, 0}, {0, 0.4, 0}, {0, 0, 0.1}}
	model, err := svd.Update(svd.Model{}, samples, svd.Options{Block: 3, Rank: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("λ = %.2f %.2f, discarded %.2f\n", model.Energy(0), model.Energy(1), model.Residual())
	fmt.Printf("explained by one %.2f, by two %.2f\n", model.Explained(1), model.Explained(2))
	// Output:
	// λ = 0.36 0.16, discarded 0.01
	// explained by one 0.68, by two 0.98
}

// The rank follows the load: it grows for a second workload and shrinks after
// that has ended.
func ExampleOptions_energyBounds() {
	one := [][]float64{{0.8, 0, 0}, {0.8, 0, 0}}
	two := [][]float64{{0.8, 0, 0}, {0, 0.5, 0.5}}
	opt := svd.Options{Block: 2, EnergyLow: 0.95, EnergyHigh: 0.99}

	var model svd.Model
	for _, block := range [][][]float64{one, two, two, one, one, one, one, one, one, one} {
		var err error
		if model, err = svd.Update(model, block, opt); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(model.Rank(), " ")
	}
	fmt.Println()
	// Output: 1 2 2 2 2 1 1 1 1 1
}

func ExampleModel_Sigma() {
	m, _ := svd.Update(svd.Model{}, [][]float64{{3, 0}, {0, 4}}, svd.Options{Block: 2})
	fmt.Printf("d=%d, rank %d, b=%d, mass %g\n", m.Dim(), m.Rank(), m.Block(), m.Mass())
	fmt.Println(m.Sigma(0), m.Sigma(1), m.Sigma(2))
	// Output:
	// d=2, rank 2, b=2, mass 1
	// 4 3 0
}

// UpdateTo writes into the storage of its destination: keep a Clone of a
// model that must not follow.
func ExampleModel_Clone() {
	opt := svd.Options{Block: 1}
	model, _ := svd.Update(svd.Model{}, [][]float64{{1, 0}}, opt)
	kept, plain := model.Clone(), model
	if err := svd.UpdateTo(&model, model, [][]float64{{0, 1}}, opt, nil); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f %.2f %.2f\n", kept.Sigma(0), plain.Sigma(0), model.Sigma(0))
	fmt.Println(kept.Equal(model))
	// Output:
	// 1.00 0.82 0.82
	// false
}

func ExampleModel_State() {
	m, _ := svd.Update(svd.Model{}, [][]float64{{0.5}}, svd.Options{Block: 1})
	fmt.Printf("%+v\n", m.State())
	// Output: {Dim:1 Block:1 Mass:1 U:[1] Sigma:[0.5] Residual:0 Mean:[]}
}

// The second direction: what the typical load leaves unsaid.
func ExampleModel_VectorTo() {
	m, _ := svd.Update(svd.Model{}, [][]float64{{0.8, 0}, {0, 0.6}}, svd.Options{Block: 2})
	dst := make([]float64, 2)
	fmt.Printf("%.1f %.1f\n", m.Sigma(1), m.VectorTo(dst, 1))
	// Output: 0.6 [0.0 1.0]
}
