package share_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spazio-scheduler/spazio/energy/share"
)

// ExampleTree publishes a guest's energy as its counter.
func ExampleTree() {
	dir, err := os.MkdirTemp("", "spazio-share-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	tree, err := share.NewTree(dir, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tree.Close()
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	fmt.Println(tree.Publish(noon, "web-1", []float64{12.5, 1.25}))
	fmt.Println(tree.Publish(noon.Add(time.Second), "web-1", []float64{12.5, 1.25}))
	fmt.Println(tree.Publish(noon, "../etc", []float64{1, 1}))
	counter := filepath.Join(dir, "web-1/class/powercap/intel-rapl:0/energy_uj")
	text, err := os.ReadFile(counter)
	fmt.Print(string(text))
	about, failed := os.Stat(counter)
	fmt.Println(about.ModTime().UTC().Format(time.TimeOnly), err, failed)
	// Output:
	// <nil>
	// <nil>
	// energy: Name = ../etc: no name of a guest
	// 25000000
	// 12:00:01 <nil> <nil>
}
