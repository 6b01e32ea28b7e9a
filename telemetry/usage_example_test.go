package telemetry_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// A pod comes into a kubelet's tree of control groups, version 2, uses a second and a half of
// CPU time and holds 200 MB. It is read when it is one and two seconds old.
func ExamplePodUsage() {
	root, err := os.MkdirTemp("", "cgroup")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	write := func(dir, name, text string) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			fmt.Println(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			fmt.Println(err)
		}
	}
	class := filepath.Join(root, "kubepods", "besteffort")
	write(root, "cgroup.controllers", "cpu memory\n")
	write(class, "cpu.stat", "usage_usec 0\n")

	// On a node the zero CgroupConfig reads /sys/fs/cgroup.
	reader, err := telemetry.NewPodUsage(telemetry.CgroupConfig{Root: root})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reader.Close()
	began := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	var usage telemetry.Usage
	if err := reader.ReadTo(&usage, began); err != nil {
		fmt.Println(err)
	}
	const uid = "3f1c0e52-9a7b-4c1d-8e2f-0123456789ab"
	pod := filepath.Join(class, "pod"+uid)
	write(pod, "cpu.stat", "usage_usec 1500000\n")
	write(pod, "memory.stat", "anon 200000000\nfile 90000000\nkernel 0\nsock 0\nshmem 0\nslab_reclaimable 0\n")
	write(pod, "memory.current", "290000000\n")
	write(pod, "memory.events", "oom_kill 0\n")
	reader.Observe(began, telemetry.RunningPods(uid)) // what a PodSource says
	for second := range 5 {
		if err := reader.ReadTo(&usage, began.Add(time.Duration(second)*time.Second)); err != nil {
			fmt.Println(err)
		}
		for _, err := range usage.Failed {
			fmt.Println(err)
		}
		for _, p := range usage.Pods {
			fmt.Printf("%v old: %v of CPU, %d MB\n", p.Age, p.CPU, p.Memory/1e6)
		}
	}
	// Output:
	// 1s old: 1.5s of CPU, 200 MB
	// 2s old: 1.5s of CPU, 200 MB
}
