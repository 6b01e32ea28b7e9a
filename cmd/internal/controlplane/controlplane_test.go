package controlplane_test

import (
	"context"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/internal/controlplane"
)

func TestIt(t *testing.T) {
	t0 := time.Now()
	c, err := controlplane.Start(context.Background(), controlplane.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(t0))
	if err := c.WriteKubeconfig("/tmp/kc"); err != nil {
		t.Fatal(err)
	}
	t0 = time.Now()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(t0))
}
