package node_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/node"
)

func TestTickerTicksUntilStopped(t *testing.T) {
	ticker, err := node.NewTicker(time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	var under atomic.Bool
	ticks, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker.Run(func() {
			under.Store(true)
			defer under.Store(false)
			select {
			case ticks <- struct{}{}:
			default:
			}
		})
	}()
	for range 10 {
		<-ticks
	}
	ticker.Stop()
	if under.Load() {
		t.Error("a tick is under way after Stop")
	}
	<-ended
}

// TestStopWaitsForTheTick: after Stop a caller may free what the ticks use.
func TestStopWaitsForTheTick(t *testing.T) {
	ticker, err := node.NewTicker(time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	began, finish := make(chan struct{}, 1), make(chan struct{})
	var done atomic.Bool
	go ticker.Run(func() {
		select {
		case began <- struct{}{}:
		default: // one more before Stop
		}
		<-finish
		done.Store(true)
	})
	<-began
	stopped := make(chan bool)
	go func() {
		ticker.Stop()
		stopped <- done.Load()
	}()
	select {
	case <-stopped:
		t.Fatal("Stop returned in the middle of a tick")
	case <-time.After(20 * time.Millisecond):
	}
	close(finish)
	if !<-stopped {
		t.Error("Stop returned ahead of the tick's end")
	}
}
