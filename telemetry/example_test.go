package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

func Example() {
	proc, err := os.MkdirTemp("", "proc")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(proc)
	set := func(name, text string) {
		if err := os.WriteFile(filepath.Join(proc, name), []byte(text), 0o644); err != nil {
			fmt.Println(err)
		}
	}
	set("meminfo", "MemTotal: 1000 kB\nMemFree: 500 kB\nMemAvailable: 750 kB\nBuffers: 0 kB\nCached: 0 kB\n")
	set("stat", "cpu  100 0 0 100\ncpu0 50 0 0 50\ncpu1 50 0 0 50\nprocs_running 3\n")

	// On a node the zero Config reads /proc and /sys/fs/cgroup.
	reader, err := telemetry.NewReader(telemetry.Config{ProcRoot: proc, Counter: telemetry.CounterStat})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reader.Close()
	at := time.Now()
	if _, err := reader.SampleTo(nil, at); errors.Is(err, telemetry.ErrPriming) {
		fmt.Println("primed")
	}
	set("stat", "cpu  120 0 0 100\ncpu0 60 0 0 50\ncpu1 60 0 0 50\nprocs_running 4\n")
	sample, err := reader.SampleTo(nil, at.Add(100*time.Millisecond))
	fmt.Println(reader.Schema().Channels, sample, err)
	fmt.Println(reader.Sizes(), reader.Schema().ID)
	// Output:
	// primed
	// [cpu memory] [0.75 0.25] <nil>
	// [2 1.024e+06] v2;cpu=half-runnable;memory=available
}

func ExampleConfig_Validate() {
	fmt.Println(telemetry.Config{CPU: "most"}.Validate())
	// Output: telemetry: CPU = most: invalid configuration or input: not one of [half utilisation contention]
}

func ExampleParsePressure() {
	s, err := telemetry.ParsePressure([]byte("some avg10=0.00 avg60=0.25 avg300=9.59 total=137024728\n"))
	fmt.Println(s.Some, err)
	_, err = telemetry.ParsePressure([]byte("some avg10=0.0"))
	fmt.Println(err)
	// Output:
	// 137024728 <nil>
	// incomplete text: no line for some
}

func ExampleStaticPods() {
	ctx, cancel := context.WithCancel(context.Background())
	err := telemetry.StaticPods{"b", "a"}.Run(ctx, func(e telemetry.PodEvent) {
		fmt.Println(e.Changed)
		for _, pod := range e.Pods {
			fmt.Println(pod.UID, pod.State, pod.Starts == telemetry.StartsUnknown)
		}
		cancel()
	})
	fmt.Println(err)
	// Output:
	// true
	// a running true
	// b running true
	// <nil>
}
