package process_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/spazio-scheduler/spazio/bench/internal/process"
)

// This process has used some time and memory, and both ways of asking agree to
// within a tick of each of user and system time.
func TestThisProcess(t *testing.T) {
	for own := int64(0); own < 50; { // milliseconds
		d, err := process.Own()
		if err != nil {
			t.Fatal(err)
		}
		own = d.Milliseconds()
	}
	before, err := process.Own()
	if err != nil {
		t.Fatal(err)
	}
	coarse, err := process.CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	after, err := process.Own()
	if err != nil {
		t.Fatal(err)
	}
	const ticks = 2 * 10
	if ms := coarse.Milliseconds(); ms < before.Milliseconds()-ticks || ms > after.Milliseconds()+ticks {
		t.Errorf("%v, between %v and %v by getrusage", coarse, before, after)
	}
	resident, peak, err := process.Memory(os.Getpid())
	if err != nil || !(resident > 1 && resident <= peak) {
		t.Errorf("%v MiB of at most %v, error %v", resident, peak, err)
	}
}

func TestNoProcess(t *testing.T) {
	if _, err := process.CPU(-1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, _, err := process.Memory(-1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
