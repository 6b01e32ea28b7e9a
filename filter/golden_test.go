package filter_test

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/filter"
)

// golden is a sequence of testdata/golden.txt, which GNU Octave has written;
// testdata/golden.m has the method and the format.
type golden struct {
	name           string
	parameters     []float64
	samples, level []float64
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
	for lines.Scan() {
		item, rest, _ := strings.Cut(lines.Text(), " ")
		switch item {
		case "#":
		case "x":
			out[len(out)-1].samples = numbers(t, rest)
		case "m":
			out[len(out)-1].level = numbers(t, rest)
		default:
			out = append(out, golden{name: item, parameters: numbers(t, rest)})
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

func (g golden) smooth(t *testing.T) []float64 {
	t.Helper()
	p := g.parameters
	if g.name != "dynamic" {
		t.Fatalf("no filter %q", g.name)
	}
	return run(t, filter.Config{N: int(p[0]), Norm: p[1], Hold: p[2], Fast: p[3], Delta: p[4], Kappa: p[5]}, g.samples)
}

// TestGolden compares with an independent implementation to 1e-12.
func TestGolden(t *testing.T) {
	sequences := readGolden(t)
	if len(sequences) < 12 {
		t.Fatalf("only %d sequences", len(sequences))
	}
	var worst float64
	for k, g := range sequences {
		for i, m := range g.smooth(t) {
			off := math.Abs(m - g.level[i])
			worst = max(worst, off)
			if !(off <= 1e-12) {
				t.Errorf("sequence %d, %s %v: sample %d: level %.17g, want %.17g", k, g.name, g.parameters, i, m, g.level[i])
				break
			}
		}
	}
	t.Logf("%d sequences, largest difference %.1e", len(sequences), worst)
}
