//go:build realnode && linux

package realnode

import (
	"testing"
	"time"
)

// The node runs a pod to its end, and the pod gets its CPU time.
func TestNode(t *testing.T) {
	create(t, worker("one", defaults, "-cpu=1s", "-memory=16Mi"))
	w, err := words(succeeds(t, "one"))
	if err != nil {
		t.Fatal(err)
	}
	if w.CPU < time.Second || w.Ended.Sub(w.Began) < time.Second/2 || w.Memory != 16<<20 {
		t.Errorf("got output %+v", w)
	}
}
