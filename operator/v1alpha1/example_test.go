package v1alpha1_test

import (
	"encoding/json"
	"fmt"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// A slot is named by its index, which is another slot when nodes come or go, or by its ID.
func ExampleSlotReference() {
	text, err := json.Marshal([]v1alpha1.SlotReference{v1alpha1.SlotIndex(3), v1alpha1.SlotID("worker-1/0")})
	fmt.Println(string(text), err)
	var slots []v1alpha1.SlotReference
	if err := json.Unmarshal(text, &slots); err != nil {
		fmt.Println(err)
		return
	}
	for _, slot := range slots {
		index, byIndex := slot.Index()
		fmt.Println(slot, index, byIndex)
	}
	// Output:
	// [3,"worker-1/0"] <nil>
	// 3 3 true
	// worker-1/0 0 false
}

// A Testbed whose slots follow the room that is measured, with the defaults of what it leaves out.
func ExampleTestbedSpec_EffectiveAuto() {
	spec := v1alpha1.TestbedSpec{Auto: &v1alpha1.Auto{Min: 1}}
	auto := spec.EffectiveAuto()
	fmt.Println(auto.Min, *auto.Max, auto.UnitsPerSlot, auto.GrowAfter.Duration, auto.ShrinkAfter.Duration)
	// Output: 1 16 1 30s 10s
}
