package spazioctl_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/web/relay"
)

// browserVariable has the test be a browser, which writes what it sees into the file of that name.
const browserVariable = "SPAZIOCTL_TEST_BROWSER"

// look is what a browser does that ends when its page has been read.
func look(address, into string) (code int) {
	seen := address + "\n"
	response, err := http.Get(address)
	if err == nil {
		var text []byte
		if text, err = io.ReadAll(response.Body); err == nil {
			seen += response.Status + "\n" + string(text)
		}
	}
	if err != nil {
		seen += err.Error()
	}
	if err := os.WriteFile(into, []byte(seen), 0o600); err != nil {
		return 1
	}
	return 0
}

// TestWebOpens the page in the system's browser, and serves it while that is open; without one it says
// so, and serves it.
func TestWebOpens(t *testing.T) {
	url := serveOn(t, relay.Handler(page.SourcePath, named("it")))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	seen := filepath.Join(dir, "seen")
	if err := unix.Mkfifo(seen, 0o600); err != nil { // whose reader waits for its writer
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s='%s' exec '%s' \"$@\"\n", browserVariable, seen, self)
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, opens := range map[string]bool{dir: true, t.TempDir(): false} {
		t.Setenv("PATH", path)
		p := startWeb(t, "--scheduler="+url, "--open")
		if opens {
			text, err := os.ReadFile(seen)
			if err != nil || !strings.HasPrefix(string(text), p.address+"\n200 OK\n") || !strings.Contains(string(text), "<html") {
				t.Errorf("the browser saw %.200q, error %v", text, err)
			}
		}
		if !opens {
			if said := <-p.said; !strings.HasPrefix(said, "open it in a browser:") {
				t.Errorf("it says %q", said)
			}
		}
		if code, text := p.get(""); code != http.StatusOK || !strings.Contains(text, "<html") {
			t.Errorf("the page: %d %.200s", code, text)
		}
		p.stop()
		if code := <-p.code; code != command.ExitOK {
			t.Errorf("exit code %d when it is interrupted", code)
		}
	}
}
