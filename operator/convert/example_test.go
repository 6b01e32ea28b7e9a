package convert_test

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/operator/convert"
)

// A test bed of the thesis, as it is written today.
func ExampleManifests() {
	out, notes, err := convert.Manifests([]byte(`apiVersion: batchjob.gcr.io/v1alpha1
kind: Testbed
metadata:
  name: lab
spec:
  nodeLabel: gcr.io/lab
  slotsPerNode: 2
  resourcesPerSlot:
    cpu: 500m
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(out))
	fmt.Println(len(notes), "left out")
	// Output:
	// apiVersion: testbed.spazio-scheduler.github.io/v1alpha1
	// kind: Testbed
	// metadata:
	//   name: lab
	// spec:
	//   nodeLabel: gcr.io/lab
	//   resourcesPerSlot:
	//     cpu: 500m
	//   slotsPerNode: 2
	// 0 left out
}
