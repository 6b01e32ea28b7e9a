package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/web"
)

func TestValidate(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--nodes 0", "--nodes"}, {"--readers 33", "--readers"}, {"--readers 0", "--readers"}, {"--changing 1.5", "--changing"}, {"--changing NaN", "--changing"},
		{"--duration 1s", "--duration"}, {"--output xml", "--output"}, {"more", "more"},
	} {
		c := command()
		c.SetArgs(strings.Fields(test.args))
		c.SilenceErrors, c.SilenceUsage = true, true
		if err := c.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.args, err)
		}
	}
}

// What is followed is what is served: as many bytes as a frame of so many nodes has.
func TestFollow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- serve(ctx, listener, newCluster(300, 0)) }()
	var sizes []int
	err = follow(ctx, "http://"+listener.Addr().String(), func(size int) {
		if sizes = append(sizes, size); len(sizes) == 3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if sizes[0] < 300*len(`[0,1,0,0,0,0,0,0,0,0,""],`) || sizes[0] > web.MaxFrame || sizes[1] > sizes[0]/2 {
		t.Errorf("frames of %d bytes", sizes)
	}
}
