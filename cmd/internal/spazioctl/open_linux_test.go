package spazioctl_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/web"
)

// browserVariable has the test be a browser, which writes what it sees into the file of that name.
const browserVariable = "SPAZIOCTL_TEST_BROWSER"

// look is what a browser does that ends when its page has been read: first it says in which group of
// processes it is.
func look(address, into string) (code int) {
	seen := fmt.Sprintf("%d\n%s\n", unix.Getpgrp(), address)
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

// TestWebOpens the page in the system's browser, which what a terminal sends this program does not reach, and
// serves it while that is open; without one it says so, and serves it.
func TestWebOpens(t *testing.T) {
	url := serveOn(t, web.RelayHandler(page.SourcePath, named("it")))
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
			saw := make(chan string, 1)
			go func() {
				text, err := os.ReadFile(seen)
				saw <- fmt.Sprintf("%s%v", text, err)
			}()
			select {
			case text := <-saw:
				group, page, _ := strings.Cut(text, "\n")
				if !strings.HasPrefix(page, p.address+"\n200 OK\n") || !strings.Contains(page, "<html") || !strings.HasSuffix(page, "<nil>") {
					t.Errorf("the browser saw %.200q", page)
				}
				if group == strconv.Itoa(unix.Getpgrp()) {
					t.Error("the browser is in this program's group")
				}
			case said := <-p.said:
				t.Fatalf("it opens nothing: %s", said)
			case code := <-p.code:
				t.Fatalf("it ended with %d", code)
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
