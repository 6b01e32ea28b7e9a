package classic_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/classic"
)

var start = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

func job(name string) classic.Job {
	return classic.Job{Namespace: "shop", Kind: "Deployment", Name: name}
}

func TestPrediction(t *testing.T) {
	cpu, memory := classic.NewCPUModel(), classic.NewMemoryModel()
	var cores, bytes []classic.Sample
	for i := range 100 {
		at := start.Add(time.Duration(i) * time.Second)
		cores = append(cores, classic.Sample{At: at, Value: 1})
		bytes = append(bytes, classic.Sample{At: at, Value: 1e8})
	}
	cores[10].Value, bytes[10].Value = 50, 7e8 // one in a hundred
	if err := errors.Join(cpu.InsertJob(start, job("cart"), cores), memory.InsertJob(start, job("cart"), bytes)); err != nil {
		t.Fatal(err)
	}
	got, ok := cpu.GetJobPrediction(start.Add(time.Hour), job("cart"))
	if !ok || got < 1.15 || got > 1.15*1.06 {
		t.Errorf("CPU %v, want P98 and 15 %%: 1.15 and a bucket", got)
	}
	got, ok = memory.GetJobPrediction(start.Add(time.Hour), job("cart"))
	if !ok || math.Abs(got-1.15*7e8) > 1 {
		t.Errorf("memory %v, want the peak and 15 %%", got)
	}
	if got, ok := cpu.GetJobPrediction(start, job("unknown")); ok {
		t.Errorf("an unknown job is predicted %v", got)
	}
}

func TestUpdates(t *testing.T) {
	m := classic.NewCPUModel()
	if j, ok := m.GetLastUpdatedJob(); ok {
		t.Errorf("a job in an empty model: %v", j)
	}
	for i, name := range []string{"b", "a", "c"} {
		if err := m.InsertJob(start.Add(time.Duration(i)*time.Minute), job(name), nil); err != nil {
			t.Fatal(err)
		}
	}
	if j, _ := m.GetLastUpdatedJob(); j != job("b") {
		t.Errorf("%v, want the one that waits longest", j)
	}
	if err := m.UpdateJob(start.Add(time.Hour), job("b"), classic.Sample{At: start, Value: 1}); err != nil {
		t.Fatal(err)
	}
	if j, _ := m.GetLastUpdatedJob(); j != job("a") {
		t.Errorf("%v, want the next", j)
	}
	if at, ok := m.GetJobUpdateTime(job("b")); !ok || !at.Equal(start.Add(time.Hour)) {
		t.Errorf("updated at %v", at)
	}
	if at, ok := m.GetJobUpdateTime(job("x")); ok {
		t.Errorf("an unknown job was updated at %v", at)
	}
	if err := m.UpdateJob(start, job("fresh"), classic.Sample{At: start, Value: 1}); err != nil {
		t.Fatal(err)
	}
	if cores, ok := m.GetJobPrediction(start, job("fresh")); !ok || cores < 1.15 {
		t.Errorf("a job inserted by its update is predicted %v, %v", cores, ok)
	}
	bad := classic.Sample{At: start, Value: math.NaN()}
	if err := errors.Join(m.UpdateJob(start, job("new"), bad), m.InsertJob(start, job("b"), []classic.Sample{bad})); !errors.Is(err, profile.ErrInvalid) {
		t.Error(err)
	}
	if _, ok := m.GetJobUpdateTime(job("new")); ok {
		t.Error("refused, and inserted")
	}
	if at, _ := m.GetJobUpdateTime(job("b")); !at.Equal(start.Add(time.Hour)) {
		t.Error("refused, and replaced")
	}
	var b strings.Builder
	if err := m.PrintModel(&b, start); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(b.String(), "\n"); len(lines) != 5 || !strings.HasPrefix(lines[0], "shop/Deployment/a\t2026-11-22 08:01:00\t0") {
		t.Errorf("printed %q", b.String())
	}
}

// Concurrent goroutines leave the same state as one.
func TestConcurrent(t *testing.T) {
	m, twin := classic.NewCPUModel(), classic.NewCPUModel()
	update := func(m *classic.ResourceModel, g int) {
		for i := range 200 {
			name := job(fmt.Sprint(i % 5))
			at := start.Add(time.Duration(i) * time.Minute)
			if err := m.UpdateJob(at, name, classic.Sample{At: at, Value: float64(g + 1)}); err != nil {
				t.Error(err)
			}
			m.GetJobPrediction(at, name)
			m.GetLastUpdatedJob()
			m.GetJobUpdateTime(name)
			if err := m.PrintModel(io.Discard, at); err != nil {
				t.Error(err)
			}
		}
	}
	var all sync.WaitGroup
	for g := range 4 {
		all.Add(1)
		go func() { defer all.Done(); update(m, g) }()
		update(twin, g)
	}
	all.Wait()
	for i := range 5 {
		got, _ := m.GetJobPrediction(start, job(fmt.Sprint(i)))
		want, _ := twin.GetJobPrediction(start, job(fmt.Sprint(i)))
		if got != want {
			t.Errorf("job %d: %v, want %v", i, got, want)
		}
	}
}

func ExampleResourceModel() {
	cpu := classic.NewCPUModel()
	history := []classic.Sample{{At: start, Value: .5}, {At: start.Add(time.Minute), Value: .8}}
	if err := cpu.InsertJob(start, job("cart"), history); err != nil {
		fmt.Println(err)
		return
	}
	cores, _ := cpu.GetJobPrediction(start, job("cart"))
	fmt.Printf("%.2f cores\n", cores)
	// Output: 0.92 cores
}
