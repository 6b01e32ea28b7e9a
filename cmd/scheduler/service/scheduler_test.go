package service_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/plugintest"
)

func TestNewAndClose(t *testing.T) {
	plugintest.EmptyTemp(t)
	s, err := service.New(t.Context(), service.Config{Kubeconfig: transporttest.Unreachable(t), Args: plugin.SpazioArgs{Listen: transporttest.Address(t)}})
	if err != nil {
		t.Fatal(err)
	}
	address := s.Hub().Addr().String()
	_, err = service.New(t.Context(), service.Config{Kubeconfig: transporttest.Unreachable(t), Args: plugin.SpazioArgs{Listen: address}})
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
	plugintest.EmptyTemp(t)
	_, err := service.New(t.Context(), service.Config{})
	var name *field.Error
	if !errors.As(err, &name) || name.Field != "Kubeconfig" || !errors.Is(err, service.ErrInvalid) {
		t.Errorf("without a kubeconfig: %v", err)
	}
	args := plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: -time.Second}}
	_, err = service.New(t.Context(), service.Config{Kubeconfig: transporttest.Unreachable(t), Args: args})
	if err == nil || !strings.Contains(err.Error(), "maxAge") {
		t.Errorf("with a negative maxAge: %v", err)
	}
}
