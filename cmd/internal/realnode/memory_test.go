//go:build realnode && linux

package realnode

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

var large = flag.Float64("large", 0, "the share of the machine's free memory that a container takes, as in .9; 0 leaves that test out")

// Beside a container that uses almost all memory no neighbour is OOM-killed, the node stays within its
// memory, and admits pods again afterwards.
func TestLargeContainer(t *testing.T) {
	if *large == 0 {
		t.Log("not run: it takes the machine's memory, see the flag -large")
		return
	}
	install(t)
	const neighbours = 12
	mebibytes := int(*large * float64(available(t)) / (1 << 20))
	big := newFates()
	big.submit(t, "large", 1, func(name string) *corev1.Pod {
		return worker(name, spazio, fmt.Sprintf("-memory=%dMi", mebibytes), "-grow=10s", "-sleep=30s")
	})
	eventually(t, "the container runs on the node", func(context.Context) error {
		if get(t, "large-0").Status.Phase != corev1.PodRunning {
			return errors.New("it does not run")
		}
		return nil
	})
	process := processesOf(t, "work", get(t, "large-0").UID)[0]
	eventually(t, "the container has its memory", func(context.Context) error {
		if now := resident(t, process); now < float64(mebibytes) {
			return fmt.Errorf("%.0f of %d MiB", now, mebibytes)
		}
		return nil
	})
	least := available(t)
	f := newFates()
	f.submit(t, "small", neighbours, func(name string) *corev1.Pod { return worker(name, spazio, "-memory=128Mi", "-cpu=1s") })
	for n := 1; n <= neighbours; n++ {
		f.wait(t, n)
		least = min(least, available(t))
	}
	b := f.figures(t)
	note(t, t.Name(), b)
	big.wait(t, 1)
	big.figures(t)
	t.Logf("beside %d MiB: neighbours' makespan %.1f s, queue %.1f s; at least %d MiB available", mebibytes, b.Makespan, b.Queue, least>>20)
	if least < 100<<20 {
		t.Errorf("only %d MiB of memory were left", least>>20)
	}
}

// available returns the machine's available memory in bytes.
func available(t *testing.T) int64 {
	t.Helper()
	return meminfo(t, "MemAvailable")
}

// meminfo returns a value of /proc/meminfo in bytes.
func meminfo(t *testing.T, name string) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kibibytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kibibytes << 10
		}
	}
	t.Fatalf("no %s in /proc/meminfo", name)
	return 0
}
