package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"github.com/spazio-scheduler/spazio/testcluster/simnode/burn"
)

// Each load takes about .8 core-seconds on the machine of the committed
// recordings.
const (
	digits      = 2000
	piRepeats   = 650
	trainEpochs = 36
)

// forever is a CPU time that no run reaches.
const forever = 24 * time.Hour

// loads are what a worker can do until it is done or ctx ends.
var loads = map[string]func(ctx context.Context, memory int64) error{
	"pi": func(ctx context.Context, _ int64) error {
		for range piRepeats {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if pi(digits).Sign() <= 0 {
				return errors.New("π is not positive")
			}
		}
		return nil
	},
	"train": func(ctx context.Context, _ int64) error {
		if accuracy := train(ctx, trainEpochs); ctx.Err() == nil && accuracy < .8 {
			return fmt.Errorf("the model learnt nothing: %.2f of the answers are right", accuracy)
		}
		return ctx.Err()
	},
	"busy": func(ctx context.Context, _ int64) error {
		return burn.Run(ctx, burn.Load{CPU: forever}, io.Discard)
	},
	"hold": func(ctx context.Context, memory int64) error {
		held := make([]byte, memory)
		for i := 0; i < len(held); i += os.Getpagesize() {
			held[i] = 1
		}
		<-ctx.Done()
		runtime.KeepAlive(held)
		return ctx.Err()
	},
	"idle": func(ctx context.Context, _ int64) error {
		<-ctx.Done()
		return ctx.Err()
	},
}

// pi returns π·10ⁿ, by Machin's formula.
func pi(n int) *big.Int {
	const guard = 10
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n+guard)), nil)
	sum := new(big.Int).Mul(big.NewInt(16), arctan(unit, 5))
	sum.Sub(sum, new(big.Int).Mul(big.NewInt(4), arctan(unit, 239)))
	return sum.Quo(sum, new(big.Int).Exp(big.NewInt(10), big.NewInt(guard), nil))
}

// arctan returns unit·arctan(1/x).
func arctan(unit *big.Int, x int64) *big.Int {
	square := big.NewInt(x * x)
	power := new(big.Int).Quo(unit, big.NewInt(x))
	sum := new(big.Int).Set(power)
	term, odd := new(big.Int), new(big.Int)
	for k := int64(1); power.Sign() != 0; k++ {
		power.Quo(power, square)
		term.Quo(power, odd.SetInt64(2*k+1))
		if k%2 == 1 {
			sum.Sub(sum, term)
		} else {
			sum.Add(sum, term)
		}
	}
	return sum
}

// The shape of the network and of what it learns from: 5 MB of samples, more
// than a core's own caches hold.
const (
	samples = 20_000
	inputs  = 32
	hidden  = 16
)

// train fits a perceptron with one hidden layer to a synthetic rule by gradient
// descent, sample by sample, applies it to every sample and returns the share of
// right answers.
func train(ctx context.Context, epochs int) float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	xs, ys := make([]float64, samples*inputs), make([]float64, samples)
	for i := range xs {
		xs[i] = rng.NormFloat64()
	}
	for i := range ys {
		x := xs[i*inputs:]
		if x[0]*x[1]+x[2] > 0 {
			ys[i] = 1
		}
	}
	m := newPerceptron(rng)
	for range epochs {
		for i, y := range ys {
			if i%1000 == 0 && ctx.Err() != nil {
				return 0
			}
			m.learn(xs[i*inputs:(i+1)*inputs], y, .05)
		}
	}
	right := 0
	for i, y := range ys {
		if (m.apply(xs[i*inputs:(i+1)*inputs]) > .5) == (y > .5) {
			right++
		}
	}
	return float64(right) / samples
}

type perceptron struct {
	in   [hidden][inputs]float64
	out  [hidden]float64
	bias float64
	h    [hidden]float64
}

func newPerceptron(rng *rand.Rand) *perceptron {
	m := &perceptron{}
	for j := range m.in {
		for k := range m.in[j] {
			m.in[j][k] = rng.NormFloat64() / math.Sqrt(inputs)
		}
		m.out[j] = rng.NormFloat64() / math.Sqrt(hidden)
	}
	return m
}

func (m *perceptron) apply(x []float64) float64 {
	sum := m.bias
	for j := range m.in {
		a := 0.
		for k, w := range m.in[j] {
			a += w * x[k]
		}
		m.h[j] = math.Tanh(a)
		sum += m.out[j] * m.h[j]
	}
	return 1 / (1 + math.Exp(-sum))
}

// learn moves the weights down the gradient of the cross entropy.
func (m *perceptron) learn(x []float64, y, rate float64) {
	e := rate * (m.apply(x) - y)
	m.bias -= e
	for j := range m.in {
		d := e * m.out[j] * (1 - m.h[j]*m.h[j])
		m.out[j] -= e * m.h[j]
		for k := range m.in[j] {
			m.in[j][k] -= d * x[k]
		}
	}
}
