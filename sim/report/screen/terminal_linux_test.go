package screen_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/spazio-scheduler/spazio/sim/report/screen"
)

// A terminal that nobody has told its size is one of 80 columns, not of none, on which nothing
// would be seen.
func TestTerminalOfUnknownSize(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Log("not run: ", err)
		return
	}
	defer func() { _ = terminal.Close() }()
	size := screen.TerminalSize(terminal)
	if size == nil {
		t.Fatal("a pseudo-terminal is no terminal")
	}
	if width, height := size(); width != 80 || height != 24 {
		t.Errorf("%d columns and %d lines", width, height)
	}
}
