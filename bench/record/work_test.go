package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

func TestPi(t *testing.T) {
	const want = "31415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679"
	got := pi(digits).String()
	if len(got) != digits+1 || !strings.HasPrefix(got, want) {
		t.Errorf("π has %d digits and begins with %.100s", len(got), got)
	}
}

func TestTrain(t *testing.T) {
	if accuracy := train(t.Context(), 3); accuracy < .7 {
		t.Errorf("%.2f of the answers are right after three epochs", accuracy)
	}
}

func TestWork(t *testing.T) {
	tests := []struct {
		args []string
		want int
	}{
		{[]string{"work", "idle", "--limit", "1ms"}, program.OK},
		{[]string{"work", "busy", "--limit", "1ms"}, program.OK},
		{[]string{"work", "hold", "--limit", "1ms", "--memory", "4096"}, program.OK},
		{[]string{"work", "dance"}, program.Usage},
		{[]string{"sweep", "--workers", "0"}, program.Usage},
	}
	for _, test := range tests {
		var stderr bytes.Buffer
		if got := program.Run(t.Context(), command(), test.args, &bytes.Buffer{}, &stderr); got != test.want {
			t.Errorf("%v exits with %d, want %d: %s", test.args, got, test.want, &stderr)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"pi", "train"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := loads[name](b.Context(), 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
