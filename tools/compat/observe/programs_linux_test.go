package observe

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// built returns the directory of the programs, built once from this tree.
func built(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("go", "build", "-o", dir+"/", "./cmd/spazio-demo", "./cmd/spazio-aggregator", "./cmd/spazio-agent-kube",
		"./cmd/spazio-scheduler", "./cmd/spazio-testbed")
	command.Dir, command.Env = top, append(os.Environ(), "GOWORK="+filepath.Join(top, "go.work"))
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return dir
}

// process is a program that runs until the test's end.
type process struct {
	name    string
	pid     int
	mu      sync.Mutex
	output  []string
	updated chan struct{} // closed and recreated with each line
	gone    bool
}

// start starts a program and reads its standard error by lines.
func start(t *testing.T, path string, args ...string) *process {
	t.Helper()
	command := exec.Command(path, args...)
	command.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{name: filepath.Base(path) + " " + strings.Join(args, " "), pid: command.Process.Pid, updated: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.read(lines.Text(), false)
		}
		p.read("", true)
		_ = command.Wait() // its output is checked instead of its exit code
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		<-ended
		if t.Failed() {
			t.Logf("%s said:\n%s", p.name, strings.Join(p.output, "\n"))
		}
	})
	return p
}

func (p *process) read(line string, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.output, p.gone = append(p.output, line), gone
	close(p.updated)
	p.updated = make(chan struct{})
}

// mustFind is find that ends the test without a match.
func (p *process) mustFind(t *testing.T, what string) string {
	t.Helper()
	found, err := p.find(what)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// find waits for a line that matches, and returns the expression's group.
func (p *process) find(what string) (string, error) {
	pattern := regexp.MustCompile(what)
	for read := 0; ; {
		p.mu.Lock()
		output, updated, gone := p.output[read:], p.updated, p.gone
		p.mu.Unlock()
		for _, line := range output {
			if found := pattern.FindStringSubmatch(line); found != nil {
				return found[len(found)-1], nil
			}
		}
		if gone {
			return "", fmt.Errorf("%s has ended without %s", p.name, what)
		}
		read += len(output)
		<-updated
	}
}

// address returns a loopback address that no other process uses.
func address(n int) string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d", 128+(pid>>8)%64, pid%256, 1+n)
}

// certify writes an authority and a certificate of it for the hosts, used by servers and their clients.
func certify(t *testing.T, hosts ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name, kind string, der []byte) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	issue := func(template, parent *x509.Certificate, public *ecdsa.PublicKey, signer *ecdsa.PrivateKey) []byte {
		template.SerialNumber = big.NewInt(time.Now().UnixNano())
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(90*24*time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	newKey := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	top, leaf := newKey(), newKey()
	authority := &x509.Certificate{
		Subject: pkix.Name{CommonName: "observe"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	root := issue(authority, authority, &top.PublicKey, top)
	write("ca.crt", "CERTIFICATE", root)
	write("client-ca.crt", "CERTIFICATE", root)
	server := &x509.Certificate{
		Subject: pkix.Name{CommonName: hosts[0]}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		server.IPAddresses = append(server.IPAddresses, net.ParseIP(host))
	}
	write("tls.crt", "CERTIFICATE", issue(server, authority, &leaf.PublicKey, top))
	der, err := x509.MarshalECPrivateKey(leaf)
	if err != nil {
		t.Fatal(err)
	}
	write("tls.key", "EC PRIVATE KEY", der)
	return dir
}

// kubelet writes the control groups of a kubelet's single pod, whose processor time is that of a
// process of the test, until the test's end.
func kubelet(top, uid string, of *process) (stop func(), err error) {
	kubepods := filepath.Join(top, "kubepods.slice")
	pod := filepath.Join(kubepods, "kubepods-besteffort.slice", "kubepods-besteffort-pod"+strings.ReplaceAll(uid, "-", "_")+".slice")
	container := filepath.Join(pod, "cri-containerd-"+strings.Repeat("a", 64)+".scope")
	if err := os.MkdirAll(container, 0o755); err != nil {
		return nil, err
	}
	write := func(name, text string) error { return os.WriteFile(name, []byte(text), 0o600) }
	used := func() (err error) {
		micro, err := of.used()
		for _, dir := range []string{kubepods, filepath.Dir(pod), pod, container} {
			err = errors.Join(err, write(filepath.Join(dir, "cpu.stat"), fmt.Sprintf("usage_usec %d\nuser_usec %d\nsystem_usec 0\n", micro, micro)))
		}
		return err
	}
	err = used()
	for _, dir := range []string{kubepods, filepath.Dir(pod), pod, container} {
		err = errors.Join(err, write(filepath.Join(dir, "cgroup.events"), "populated 1\nfrozen 0\n"),
			write(filepath.Join(dir, "cgroup.procs"), ""), write(filepath.Join(dir, "memory.current"), "1048576\n"))
	}
	if err = errors.Join(err, write(filepath.Join(container, "cgroup.procs"), fmt.Sprintln(of.pid))); err != nil {
		return nil, err
	}
	ending, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ending:
				return
			case <-ticker.C:
				_ = used() // the process may have ended with the test
			}
		}
	}()
	return func() { close(ending); <-ended }, nil
}

// used returns the processor time that a process has used, in microseconds.
func (p *process) used() (micro int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return 0, err
	}
	_, fields, _ := strings.Cut(string(text), ") ") // the process name before it may have blanks
	for _, field := range strings.Fields(fields)[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		micro += ticks * 10_000 // the kernel counts hundredths of a second
	}
	return micro, nil
}

// programs starts everything that exports metrics, on this machine only: the demo and that of test
// beds, each of which has several parts; two aggregators that exchange state, with certificates; and in
// the demo's cluster, beside its own parts, a scheduler that leads, an operator of test beds, and an
// agent of one node that measures energy. It returns their targets, and a function that waits until all
// have worked.
func programs(t *testing.T) (targets func() []target, worked func() error) {
	t.Helper()
	dir := built(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	spazio := start(t, path("spazio-demo"), "--kubeconfig", kubeconfig, "--nodes", "4", "--pods", "60", "--cpu-seconds", "3", "--profiles", "spazio", "--keep")
	beds := start(t, path("spazio-demo"), "testbed", "--jobs", "2", "--seconds", "2s", "--keep")
	hosts := []string{address(1), address(2)}
	certificates := certify(t, append(hosts, address(3))...)
	known := []string{"--tls-dir", certificates}
	var aggregators []*process
	for i, host := range hosts {
		args := append([]string{
			"--listen", host + ":9692", "--metrics-listen", "127.0.0.1:0", "--debug-listen=",
			"--peer", hosts[1-i] + ":9692", "--snapshot", filepath.Join(t.TempDir(), "state"), "--snapshot-interval", "1s",
		}, known...)
		aggregators = append(aggregators, start(t, path("spazio-aggregator"), args...))
	}
	spazio.mustFind(t, "kubectl --kubeconfig")
	beside := besides(t, kubeconfig, certificates, path)
	cgroups := t.TempDir()
	if err := os.WriteFile(filepath.Join(cgroups, "cgroup.controllers"), []byte("cpu memory\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(cgroups, "kubepods.slice"), 0o755); err != nil {
		t.Fatal(err)
	}
	agent := start(t, path("spazio-agent-kube"), append([]string{
		"--node-name", metered, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--schedulers", address(3) + ":9690",
		"--pod-source", "kube", "--kubeconfig", kubeconfig, "--cgroup-root", cgroups, "--aggregator", hosts[0] + ":9692", "--energy", "model", "--energy-model", "idle=10,max=40", "--energy-pods", "1s",
	}, known...)...)

	lists := []string{spazio.mustFind(t, `(http://[0-9.:]+/targets)`), beds.mustFind(t, `(http://[0-9.:]+/targets)`)}
	var alone []target
	for i, p := range aggregators {
		alone = append(alone, target{"spazio-aggregator", hosts[i], "http://" + p.mustFind(t, `"metrics":"([0-9.:]+)"`) + "/metrics"})
	}
	alone = append(alone, target{"spazio-agent", metered, "http://" + agent.mustFind(t, `"metrics-listen":"([0-9.:]+)"`) + "/metrics"})
	targets = func() []target {
		all := append(alone[:len(alone):len(alone)], beside.targets()...)
		for i, list := range lists {
			all = append(all, listed(t, list, fmt.Sprint("demo-", i))...)
		}
		return all
	}
	return targets, func() error {
		if _, err := spazio.find(`kept until Ctrl-C`); err != nil {
			return err
		}
		if err := beside.run(t, cgroups, spazio); err != nil { // not before: the demo waits for empty nodes
			return err
		}
		_, err := beds.find(`kept until Ctrl-C`)
		return err
	}
}
