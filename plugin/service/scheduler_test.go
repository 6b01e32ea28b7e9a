package service_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/service"
)

// kubeconfig names a server that nobody runs: making a scheduler asks nothing.
func kubeconfig(t *testing.T) string {
	t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["none"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	c.Contexts["none"] = &clientcmdapi.Context{Cluster: "none"}
	c.CurrentContext = "none"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// emptyTemp gives the test a temporary directory of its own and checks in the
// end that nothing was left there.
func emptyTemp(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

func TestNewAndClose(t *testing.T) {
	emptyTemp(t)
	s, err := service.New(t.Context(), service.Config{Kubeconfig: kubeconfig(t), Args: plugin.SpazioArgs{Listen: "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	address := s.Hub().Addr().String()
	_, err = service.New(t.Context(), service.Config{Kubeconfig: kubeconfig(t), Args: plugin.SpazioArgs{Listen: address}})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("on a busy port: %v", err)
	}
	s.Close()
	s.Close()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the port after Close: %v", err)
	}
	listener.Close()
}

func TestNewRefuses(t *testing.T) {
	emptyTemp(t)
	_, err := service.New(t.Context(), service.Config{})
	var field *service.FieldError
	if !errors.As(err, &field) || field.Field != "Kubeconfig" || !errors.Is(err, service.ErrInvalid) {
		t.Errorf("without a kubeconfig: %v", err)
	}
	args := plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: -time.Second}}
	_, err = service.New(t.Context(), service.Config{Kubeconfig: kubeconfig(t), Args: args})
	if err == nil || !strings.Contains(err.Error(), "maxAge") {
		t.Errorf("with a negative maxAge: %v", err)
	}
}
