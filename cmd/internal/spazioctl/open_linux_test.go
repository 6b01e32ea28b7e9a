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

// browserVariable makes the test binary act as a browser, which writes what it receives into the file
// of this name.
const browserVariable = "SPAZIOCTL_TEST_BROWSER"

// look acts as a browser that ends when its page has been read: it first writes its process group.
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

// TestWebOpens the page in the system's browser, which signals of the terminal do not reach, and serves
// it while it is open; without a browser it prints the address, and serves it.
func TestWebOpens(t *testing.T) {
	url := serveOn(t, web.RelayHandler(page.SourcePath, named("it")))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	seen := filepath.Join(dir, "seen")
	if err := unix.Mkfifo(seen, 0o600); err != nil { // opening it blocks until the writer opens it
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
					t.Errorf("the browser received %.200q", page)
				}
				if group == strconv.Itoa(unix.Getpgrp()) {
					t.Error("the browser is in this program's group")
				}
			case output := <-p.output:
				t.Fatalf("no browser was opened: %s", output)
			case code := <-p.code:
				t.Fatalf("got exit code %d", code)
			}
		}
		if !opens {
			if output := <-p.output; !strings.HasPrefix(output, "open it in a browser:") {
				t.Errorf("got output %q", output)
			}
		}
		if code, text := p.get(""); code != http.StatusOK || !strings.Contains(text, "<html") {
			t.Errorf("page: got %d %.200s", code, text)
		}
		p.stop()
		if code := <-p.code; code != command.ExitOK {
			t.Errorf("interrupted: got exit code %d", code)
		}
	}
}
