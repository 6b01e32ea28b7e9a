package pace_test

import (
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/node/internal/pace"
)

func TestTimerSendsWhenItWasSetToLast(t *testing.T) {
	timer, err := pace.NewTimer()
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Close()
	select {
	case <-timer.C:
		t.Fatal("a timer that is not set has sent")
	default:
	}
	for _, tt := range []struct {
		name          string
		before, after time.Duration
	}{
		{"set", 2 * time.Hour, 20 * time.Millisecond},
		{"sooner", time.Hour, time.Millisecond},
		{"at once", time.Hour, 0},
		{"past", time.Hour, -time.Second},
	} {
		began := time.Now()
		timer.Reset(tt.before)
		timer.Reset(tt.after)
		<-timer.C
		if took := time.Since(began); took < tt.after {
			t.Errorf("%s: sent after %v, want %v", tt.name, took, tt.after)
		}
	}
	timer.Reset(time.Millisecond)
	<-timer.C
	timer.Reset(time.Hour)
	select {
	case <-timer.C:
		t.Error("sent once more")
	default:
	}
}

// TestTimerPutOff: a timer that was postponed does not fire at its first time.
func TestTimerPutOff(t *testing.T) {
	timer, err := pace.NewTimer()
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Close()
	const soon, later = 20 * time.Millisecond, 60 * time.Millisecond
	for {
		began := time.Now()
		timer.Reset(soon)
		timer.Reset(later)
		inTime := time.Since(began) < soon // otherwise the timer may have fired in between
		<-timer.C
		if took := time.Since(began); inTime && took < later {
			t.Errorf("sent after %v, want %v", took, later)
		}
		if inTime {
			return
		}
		timer.Reset(time.Hour)
		select {
		case <-timer.C:
		default:
		}
	}
}
