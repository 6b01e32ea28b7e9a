package svd_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/svd"
)

// golden is a sequence of testdata/golden.txt, which GNU Octave has written;
// testdata/golden.m has the method and the format.
type golden struct {
	name   string
	opt    svd.Options
	blocks [][][]float64
	split  int // blocks before the merge, 0 without one
	want   map[string][]float64
}

func readGolden(t *testing.T) []golden {
	t.Helper()
	file, err := os.Open("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out []golden
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		item, rest, _ := strings.Cut(lines.Text(), " ")
		if item == "#" {
			continue
		}
		if item == "sequence" {
			out = append(out, golden{name: rest, want: map[string][]float64{}})
			continue
		}
		g := &out[len(out)-1]
		switch item {
		case "options":
			v := numbers(t, rest)
			g.opt = svd.Options{Block: int(v[1]), Rank: int(v[2]), Alpha: v[3], Beta: v[4], Centre: v[5] == 1}
		case "block":
			block := make([][]float64, int(numbers(t, rest)[0]))
			for j := range block {
				lines.Scan()
				block[j] = numbers(t, lines.Text())
			}
			g.blocks = append(g.blocks, block)
		case "merge":
			g.split = len(g.blocks)
		default:
			g.want[item] = numbers(t, rest)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func numbers(t *testing.T, line string) []float64 {
	t.Helper()
	var out []float64
	for _, field := range strings.Fields(line) {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// model updates and merges as the sequence says.
func (g golden) model(t *testing.T) svd.Model {
	t.Helper()
	var parts [2]svd.Model
	for k, samples := range g.blocks {
		part := &parts[0]
		if g.split > 0 && k >= g.split {
			part = &parts[1]
		}
		*part = mustUpdate(t, *part, samples, g.opt)
	}
	return mustMerge(t, parts[0], parts[1])
}

// TestGolden compares with an independent implementation to 1e-12, relative
// to σ₁, σ₁² and, for the directions, to the gap that defines them.
func TestGolden(t *testing.T) {
	sequences := readGolden(t)
	if len(sequences) < 20 {
		t.Fatalf("only %d sequences", len(sequences))
	}
	var worst float64
	for _, g := range sequences {
		t.Run(g.name, func(t *testing.T) {
			m := g.model(t)
			sigma := g.want["sigma"]
			if m.Rank() != len(sigma) {
				t.Fatalf("rank %d, want %d", m.Rank(), len(sigma))
			}
			check := func(what string, got, want, unit float64) {
				off := math.Abs(got-want) / unit
				worst = max(worst, off)
				if !(off <= 1e-12) {
					t.Errorf("%s = %.17g, want %.17g", what, got, want)
				}
			}
			check("mass", m.Mass(), g.want["mass"][0], 1)
			for i, want := range sigma {
				check(fmt.Sprintf("σ_%d", i+1), m.Sigma(i), want, sigma[0])
				check(fmt.Sprintf("Explained(%d)", i+1), m.Explained(i+1), g.want["explained"][i], 1)
				off := sine(column(m.State(), i), column(svd.State{Dim: m.Dim(), U: g.want["u"]}, i))
				if len(sigma) > 1 {
					off *= gap(sigma, i)
				}
				check(fmt.Sprintf("sin∠u_%d·gap", i+1), off, 0, 1)
			}
			moments := m.MomentsTo(nil)
			for i, want := range g.want["moments"] {
				check(fmt.Sprintf("moment %d", i), moments[i], want, sigma[0]*sigma[0])
			}
			mean := m.MeanTo(nil)
			if len(mean) != len(g.want["mean"]) {
				t.Fatalf("mean %v, want %v", mean, g.want["mean"])
			}
			for i, want := range g.want["mean"] {
				check(fmt.Sprintf("mean %d", i), mean[i], want, 1)
			}
		})
	}
	t.Logf("%d sequences, largest difference %.1e", len(sequences), worst)
}
