package text

import (
	"os"
	"syscall"
	"testing"
)

// A terminal of unknown size is taken for one of 80 columns.
func TestTerminalOfUnknownSize(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Log("not run: ", err)
		return
	}
	defer func() { _ = terminal.Close() }()
	size := terminalSize(terminal)
	if size == nil {
		t.Fatal("a pseudo-terminal is no terminal")
	}
	if width, height := size(); width != 80 || height != 24 {
		t.Errorf("%d columns and %d lines", width, height)
	}
}
