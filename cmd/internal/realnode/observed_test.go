//go:build realnode && linux

package realnode

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
)

// administrator returns the administrator's configuration for the API.
func administrator(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig(node.work, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

// metricsOf returns the metrics at the debug address of one of our pods.
func metricsOf(t *testing.T, namespace, pod string, port int) (text string) {
	t.Helper()
	transport, err := podforward.New(podforward.Config{
		Cluster: administrator(t), Namespace: namespace, Port: port, Find: podforward.Named(pod),
	})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	eventually(t, pod+" shows its metrics", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pod/metrics", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if text = string(body); err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", response.Status, text)
		}
		return err
	})
	return text
}

// leaderMetrics returns the metrics of the leading scheduler.
func leaderMetrics(t *testing.T) string {
	t.Helper()
	return metricsOf(t, "spazio-system", leader(t), 9694)
}

// value returns the value of a series, by its name and labels as written.
func value(t *testing.T, metrics, series string) float64 {
	t.Helper()
	for line := range strings.Lines(metrics) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatalf("%s: %v", series, err)
			}
			return v
		}
	}
	t.Fatalf("no series %s", series)
	return 0
}

// resident returns a process's resident memory in MiB.
func resident(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * float64(os.Getpagesize()) / (1 << 20)
}

// descriptors returns the number of a process's open files.
func descriptors(t *testing.T, pid int) float64 {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return float64(len(open))
}

// diskOf returns the size of a pod's volumes and logs, in MiB.
func diskOf(t *testing.T, pod *corev1.Pod) (sum float64) {
	t.Helper()
	logs := fmt.Sprintf("/var/log/pods/%s_%s_%s", pod.Namespace, pod.Name, pod.UID)
	for _, dir := range []string{logs, filepath.Join(node.work, "kubelet/pods", string(pod.UID), "volumes/kubernetes.io~empty-dir")} {
		err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return nil // files may disappear meanwhile
			}
			if info, err := entry.Info(); err == nil {
				sum += float64(info.Size()) / (1 << 20)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return sum
}
