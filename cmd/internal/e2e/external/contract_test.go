package external

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/external/wire"
)

// The program implements the contract of the interface, as a process behind TLS with the manifests'
// permissions, in its own form and in the thesis's.
func TestExternalContract(t *testing.T) {
	r := newRig(t)
	r.everywhere("admin", "spazio-external-scheduler")
	r.everywhere("watcher", "spazio-testbed-viewer")
	r.testbed("bed", 2, 2)
	r.job(r.namespace, "job-a")
	r.job(r.namespace, "job-b")
	own := transporttest.SelfSigned(t, "localhost")
	address := transporttest.Address(t)
	program := &cluster.Command{Role: "testbed", Args: []string{
		"--kubeconfig=" + r.program, "--leader-elect", "--lease-namespace=" + system, "--metrics-listen=",
		"--listen=" + address, "--tls-dir=" + filepath.Dir(own.CertFile),
		"--seed-paths=" + r.namespace, "--ui",
	}}
	program.Start(t)
	good := r.token(driver, "")
	url := "https://" + strings.Replace(address, "127.0.0.1", "localhost", 1)
	c := r.as(url, good)
	c.http = trusting(t, own.CertFile)
	cluster.Eventually(t, "the program answers", func() (bool, any) {
		response, err := c.http.Get(url + "/external/v1/openapi.json")
		if err != nil {
			return false, err
		}
		response.Body.Close()
		return true, nil
	})
	r.bindPlaceholders(4)
	cluster.Eventually(t, "all slots are free", func() (bool, any) {
		status, answer, _ := c.ask("GET", in(r.namespace, "testbeds", "bed"), nil)
		return status == 200 && strings.Contains(string(answer), `"free":4`) && strings.Contains(string(answer), `"ready":true`), string(answer)
	})
	checkContract(t, map[string]any{
		"URL": url, "CAFile": own.CertFile, "Namespace": r.namespace, "Testbed": "bed", "Jobs": []string{"job-a", "job-b"}, "Seed": true,
		"Admin": r.token("admin", ""), "Viewer": r.token("watcher", ""), "Team": good, "Nothing": r.token(nobody, ""),
		"Expired": endedToken(r), "Foreign": r.token("admin", "spazio-scheduler"), "Unknown": good[:len(good)-8] + "AAAAAAAA",
	})
	if p := do[[]wire.Scheduling](c, 200, "GET", "/external/schedulings", nil); len(p) > 0 {
		t.Errorf("left: %+v", p)
	}
	program.Interrupt(t)
}

// checkContract runs TestContract of package server on a server.
func checkContract(t *testing.T, target map[string]any) {
	t.Helper()
	dir := t.TempDir()
	program, file := filepath.Join(dir, "server.test"), filepath.Join(dir, "target.json")
	text, err := json.Marshal(target)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, "github.com/spazio-scheduler/spazio/external/server").CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, said)
	}
	args := []string{"-test.v", "-test.run=^TestContract$", "-contract", file}
	if deadline, limited := t.Deadline(); limited {
		// It ends before this test is ended, so that what it printed is seen.
		args = append(args, fmt.Sprint("-test.timeout=", max(time.Until(deadline)-10*time.Second, time.Second)))
	}
	said, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil || !strings.Contains(string(said), "--- PASS: TestContract/SeedSchedulings") {
		t.Errorf("the contract: %v\n%s", err, said)
	}
}

// trusting returns a client that trusts a certificate.
func trusting(t *testing.T, file string) *http.Client {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
