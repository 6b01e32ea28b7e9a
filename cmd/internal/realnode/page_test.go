//go:build realnode && linux

package realnode

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The page of spazio web shows this node and a waiting pod, through the API server and the kubelet, and
// answers queries about both.
func TestPage(t *testing.T) {
	install(t)
	waiting := worker("waiting-shown", spazio)
	waiting.Spec.NodeSelector = map[string]string{"no": "such-node"}
	create(t, waiting)
	page := startPage(t)

	frames := bufio.NewScanner(page.open(t, "events"))
	frames.Buffer(nil, 1<<20) // a frame is a line of at most 256 KiB
	// The first frame is complete, later ones have the changes.
	for there, waits := false, false; !there || !waits; {
		if !frames.Scan() {
			t.Fatalf("node shown: %v, pod shown: %v, and no more frames: %v", there, waits, frames.Err())
		}
		there = there || strings.Contains(frames.Text(), `"`+nodeName+`"`)
		waits = waits || strings.Contains(frames.Text(), `"`+waiting.Name+`"`)
	}
	for path, want := range map[string]string{
		"":                      "<title>",
		"node?name=" + nodeName: `"spazio-agent-`, // a pod of this node
		"pod?namespace=default&name=" + waiting.Name: "pod default/" + waiting.Name,
	} {
		if text, err := io.ReadAll(page.open(t, path)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%q: %s is missing: %v: %s", path, want, err, text)
		}
	}
}

// A shownPage is the address of a page.
type shownPage string

// startPage runs spazio web until the test's end.
func startPage(t *testing.T) shownPage {
	t.Helper()
	c := exec.CommandContext(t.Context(), program(node.work, "spazio"), "web", "--kubeconfig", kubeconfig(node.work, "admin"))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Wait() }) // the end of the test's context kills it
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("spazio web: %v: %s", err, address)
	}
	return shownPage(strings.TrimSpace(address))
}

// open requests a path; the test closes the answer at its end, and the request ends by itself with the
// test's context.
func (p shownPage) open(t *testing.T, path string) io.Reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyTime)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, string(p)+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, response.Status)
	}
	return response.Body
}
