package observe

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

const (
	// metered is the demo's node with an agent of its own, and silent one that never reports to the
	// scheduler beside the demo's.
	metered, silent = "node-1", "node-2"
	testbedLabel    = "example.com/observed"
)

// schedulerConfig has another profile than the demo's scheduler.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s}
leaderElection: {leaderElect: true, resourceName: observed, resourceNamespace: default}
profiles:
  - schedulerName: observed
    percentageOfNodesToScore: 100
    plugins: {multiPoint: {enabled: [{name: Spazio, weight: 5}]}}
    pluginConfig:
      - name: Spazio
        args: {listen: "%s", tlsCertFile: %s, tlsKeyFile: %s}
`

// beside runs in the demo's cluster: a scheduler that leads and an operator of test beds. Those that
// have answered are scraped.
type beside struct {
	api   *api
	shown [2]bool
}

// besides starts them with a certificate, and creates a test bed of a silent node.
func besides(t *testing.T, kubeconfig, certificates string, path func(string) string) *beside {
	t.Helper()
	b := &beside{api: newAPI(t, kubeconfig)}
	signals := address(3) + ":9690"
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, schedulerConfig, kubeconfig, signals, filepath.Join(certificates, "tls.crt"), filepath.Join(certificates, "tls.key")), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, path("spazio-scheduler"), "--config", config, "--secure-port", "0", "--debug-listen", address(3)+":9694")
	b.define(t)
	b.await(t, http.MethodPatch, "/api/v1/nodes/"+silent, object{"metadata": object{"labels": object{testbedLabel: "1"}}})
	bed := object{
		"apiVersion": "testbed.spazio-scheduler.github.io/v1alpha1", "kind": "Testbed", "metadata": object{"name": "observed"},
		"spec": object{"nodeLabel": testbedLabel, "slotsPerNode": "auto", "auto": object{"max": 1}, "resourcesPerSlot": object{"cpu": "100m", "memory": "16Mi"}},
	}
	b.await(t, http.MethodPost, "/apis/testbed.spazio-scheduler.github.io/v1alpha1/namespaces/default/testbeds", bed)
	start(t, path("spazio-testbed"), "--kubeconfig", kubeconfig, "--signal", signals, "--tls-dir", certificates, "--listen=", "--metrics-listen", address(4)+":9704")
	return b
}

// await sends an object as soon as its target exists: a node that has joined, a definition that is
// served.
func (b *beside) await(t *testing.T, method, path string, body object) {
	t.Helper()
	err := b.api.send(method, path, body, nil)
	for ; errors.Is(err, errNotFound); err = b.api.send(method, path, body, nil) {
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// define adds the definitions of test beds to the API server.
func (b *beside) define(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "cmd/deploy/chart/files/crd/testbed.*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d definitions: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var o object
		if err := yaml.Unmarshal(text, &o); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := b.api.send(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", o, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// targets returns their targets once they serve; the demo does not wait for them.
func (b *beside) targets() (all []target) {
	for i, one := range []target{
		{"spazio-scheduler", "beside", "http://" + address(3) + ":9694/metrics"},
		{"spazio-testbed", "beside", "http://" + address(4) + ":9704/metrics"},
	} {
		if !b.shown[i] {
			response, err := http.Get(one.url)
			if err != nil {
				continue
			}
			response.Body.Close()
			b.shown[i] = true
		}
		all = append(all, one)
	}
	return all
}

// run runs a pod on the metered node, with the processor time of a process of the test.
func (b *beside) run(t *testing.T, cgroups string, of *process) error {
	var made struct{ Metadata struct{ UID string } }
	err := b.api.send(http.MethodPost, "/api/v1/namespaces/default/pods", object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": "web-1", "annotations": object{"spazio-scheduler.github.io/idle": "true"}},
		"spec":     object{"nodeName": metered, "containers": []object{{"name": "web", "image": "registry.invalid/none"}}},
	}, &made)
	if err != nil {
		return err
	}
	stop, err := kubelet(cgroups, made.Metadata.UID, of)
	if err == nil {
		t.Cleanup(stop)
	}
	return err
}

// api is the demo's API server.
type api struct {
	server string
	client *http.Client
	token  string
}

// object is an API object, or a part of one.
type object = map[string]any

var errNotFound = errors.New("not found")

// newAPI reads a kubeconfig of one cluster and one user.
func newAPI(t *testing.T, kubeconfig string) *api {
	t.Helper()
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Clusters []struct {
			Cluster struct {
				Server string `yaml:"server"`
				CA     string `yaml:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Token string `yaml:"token"`
				Cert  string `yaml:"client-certificate-data"`
				Key   string `yaml:"client-key-data"`
			}
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil || len(file.Clusters) != 1 || len(file.Users) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	decoded := func(data string) []byte {
		b, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	of, user := file.Clusters[0].Cluster, file.Users[0].User
	known := &tls.Config{RootCAs: x509.NewCertPool()}
	known.RootCAs.AppendCertsFromPEM(decoded(of.CA))
	if user.Cert != "" {
		pair, err := tls.X509KeyPair(decoded(user.Cert), decoded(user.Key))
		if err != nil {
			t.Fatal(err)
		}
		known.Certificates = append(known.Certificates, pair)
	}
	transport := &http.Transport{TLSClientConfig: known}
	t.Cleanup(transport.CloseIdleConnections)
	return &api{of.Server, &http.Client{Transport: transport}, user.Token}
}

// send sends an object, and decodes the answer into one unless that is nil.
func (a *api) send(method, path string, body object, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, a.server+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s: %w", path, errNotFound)
	case response.StatusCode >= 300:
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, strings.TrimSpace(string(answer)))
	case into == nil:
		return nil
	}
	return json.Unmarshal(answer, into)
}
