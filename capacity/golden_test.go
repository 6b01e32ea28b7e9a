package capacity_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/capacity"
)

// fields reads the numbers of a golden line one after the other.
type fields struct {
	t *testing.T
	r *strings.Reader
}

func (f fields) num() (v float64) {
	f.t.Helper()
	if _, err := fmt.Fscan(f.r, &v); err != nil {
		f.t.Fatal(err)
	}
	return v
}

func (f fields) vec() []float64 {
	v := make([]float64, int(f.num()))
	for i := range v {
		v[i] = f.num()
	}
	return v
}

func (f fields) equal(got, want float64) {
	f.t.Helper()
	if !(math.Abs(got-want) <= 1e-12*math.Max(1, math.Abs(want))) {
		f.t.Fatalf("got %v, Octave has %v", got, want)
	}
}

// TestGolden compares with an implementation in GNU Octave (testdata/golden.m).
func TestGolden(t *testing.T) {
	file, err := os.Open("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	counts := map[string]int{}
	for lines.Scan() {
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		compare, ok := goldens[kind]
		if !ok {
			t.Fatalf("no comparison for %q", kind)
		}
		counts[kind]++
		t.Run(fmt.Sprintf("%s/%d", kind, counts[kind]), func(t *testing.T) {
			if err := compare(fields{t, strings.NewReader(rest)}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for kind := range goldens {
		if counts[kind] < 10 {
			t.Errorf("%d sequences of %s, want at least 10", counts[kind], kind)
		}
	}
}

var goldens = map[string]func(f fields) error{
	"solve": func(f fields) error {
		r, err := capacity.Solve(f.vec(), f.vec(), capacity.Options{})
		f.equal(r.K, f.num())
		return err
	},
	"headroom": func(f fields) error {
		h, _, err := capacity.Headroom(f.vec(), f.vec())
		f.equal(h, f.num())
		return err
	},
	"avail": func(f fields) error {
		o := capacity.AvailOptions{FloorBelow: capacity.NoFloor}
		switched, churn := f.num() == 1, f.num() == 1
		p := capacity.Pods{Now: f.num(), Measured: f.num()}
		y, c, cost, sd := f.vec(), f.vec(), f.vec(), f.vec()
		ch := make([]capacity.Channel, len(y))
		for i := range ch {
			ch[i] = capacity.Channel{Usage: y[i], Capacity: c[i], Cost: cost[i], CostSD: sd[i]}
		}
		var rooms []capacity.Room // by one equation for all channels, where not by the lower
		if switched {
			mode := capacity.SignalMode
			if churn {
				mode = capacity.ModelMode
			}
			for _, c := range ch {
				rooms = append(rooms, c.Room(p, o).By(mode))
			}
		}
		a, err := capacity.AvailableIn(ch, rooms, p, o)
		f.equal(a.Pods, f.num())
		return err
	},
}
