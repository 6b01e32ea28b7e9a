package workload

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// text returns a string of an object, empty if there is none.
func text(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

// count returns a number of an object, 0 if there is none.
func count(o *unstructured.Unstructured, path ...string) int32 {
	value, _, _ := unstructured.NestedInt64(o.Object, path...)
	return int32(max(0, min(value, math.MaxInt32)))
}

// timeOf reads a time as Kubernetes writes it; zero if it is none.
func timeOf(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
