package e2e

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
	"github.com/spazio-scheduler/spazio/simnode"
)

// command is a role run as a process of its own.
type command struct {
	role string
	args []string

	process *exec.Cmd
	output  *lockedBuffer
}

// lockedBuffer collects what a process writes.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (c *command) start(t *testing.T) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process, output := exec.Command(binary, c.args...), &lockedBuffer{}
	process.Env = append(os.Environ(), roleVariable+"="+c.role)
	process.Stdout, process.Stderr = output, output
	if _, err := process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	c.process, c.output = process, output
	t.Cleanup(func() {
		if process.ProcessState == nil {
			_ = process.Process.Kill()
			_ = process.Wait()
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", c.role, output)
		}
	})
}

// kill ends the process as kill -9 does.
func (c *command) kill(t *testing.T) {
	t.Helper()
	if err := c.process.Process.Kill(); err != nil {
		t.Fatalf("kill the %s: %v", c.role, err)
	}
	_ = c.process.Wait() // says that it was killed
}

// interrupt ends the process as Ctrl-C does, which is a success.
func (c *command) interrupt(t *testing.T) {
	t.Helper()
	if err := c.process.Process.Signal(os.Interrupt); err != nil {
		t.Fatalf("interrupt the %s: %v", c.role, err)
	}
	if err := c.process.Wait(); err != nil || c.process.ProcessState.ExitCode() != serve.ExitOK {
		t.Errorf("%s after an interrupt: %v", c.role, err)
	}
}

// freeAddress returns a loopback address that was free a moment ago: a process
// that starts again has to come back where its clients look for it.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// scraper reads the metrics of a process.
type scraper struct {
	url, token string
	client     *http.Client
}

func newScraper(url, token string) scraper {
	// The scheduler makes its own certificate.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	return scraper{url: url, token: token, client: &http.Client{Transport: transport}}
}

// value returns a metric; its labels, if any, belong to its name.
func (s scraper) value(metric string) (float64, error) {
	request, err := http.NewRequest(http.MethodGet, s.url+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", s.url, response.Status)
	}
	return findMetric(response.Body, metric)
}

func findMetric(text io.Reader, metric string) (float64, error) {
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), metric+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("no metric %s", metric)
}

// waitMetric waits until the metric has the value.
func waitMetric(t *testing.T, s scraper, metric string, want float64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s is %v", metric, want), func() (bool, any) {
		got, err := s.value(metric)
		return err == nil && got == want, fmt.Sprint(got, err)
	})
}

// Every role is killed in the middle of a batch and started again.
func TestKilledRolesComeBack(t *testing.T) {
	const (
		nodeCount = 10
		podCount  = 120
		timeScale = 4
	)
	client, kubeconfig := cluster(t)
	admin, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	signals, secure := freeAddress(t), freeAddress(t)
	models, metrics := freeAddress(t), freeAddress(t)
	_, securePort, err := net.SplitHostPort(secure)
	if err != nil {
		t.Fatal(err)
	}
	scheduler := &command{role: "scheduler", args: []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--authentication-skip-lookup", "--bind-address=127.0.0.1", "--secure-port=" + securePort,
		"--leader-elect=false", "--signal-listen=" + signals,
	}}
	aggregator := &command{role: "aggregator", args: []string{"--listen=" + models, "--metrics-listen=" + metrics}}
	schedulerMetrics, aggregatorMetrics := newScraper("https://"+secure, admin.BearerToken), newScraper("http://"+metrics, "")

	aggregator.start(t)
	scheduler.start(t)
	runSimulatedNodes(t, client, simnode.NewClock(time.Now(), timeScale), nodeCount, signals, models)
	waitMetric(t, aggregatorMetrics, "spazio_aggregator_nodes", nodeCount)

	log := watchPods(t, client)
	pods := batch{prefix: "batch", pods: podCount - podCount/6, startup: time.Second, work: 5 * time.Second}
	submit(t, client, pods)
	log.waitSucceeded(t, podCount/12)
	aggregator.kill(t)
	aggregator.start(t)
	log.waitSucceeded(t, podCount/6)
	scheduler.kill(t)
	pods.prefix, pods.pods = "orphans", podCount/6
	submit(t, client, pods)
	scheduler.start(t)
	begin := time.Now()
	log.waitSucceeded(t, podCount)
	t.Logf("%v from the scheduler's second start to the end of the batch", time.Since(begin))

	waitMetric(t, schedulerMetrics, `spazio_nodes{state="fresh"}`, nodeCount)
	waitMetric(t, schedulerMetrics, "spazio_inflight_pods", 0)
	waitMetric(t, aggregatorMetrics, "spazio_aggregator_nodes", nodeCount)
	scheduler.interrupt(t)
	aggregator.interrupt(t)
}
