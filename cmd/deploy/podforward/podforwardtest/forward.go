// Package podforwardtest plays the API server that forwards ports, for tests.
package podforwardtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// Forward has a mux forward a pod's port to what listens at addr, as an API server
// does; connections to the pod's other ports fail.
func Forward(t testing.TB, mux *http.ServeMux, namespace, pod string, port int, addr string) {
	path := fmt.Sprintf("POST /api/v1/namespaces/%s/pods/%s/portforward", namespace, pod)
	mux.Handle(path, Handler(t, func(_ *http.Request, asked int) string {
		if asked != port {
			return ""
		}
		return addr
	}))
}

// next is the next stream, nil if the client has left before it.
func next(streams <-chan httpstream.Stream, connection httpstream.Connection) httpstream.Stream {
	select {
	case s := <-streams:
		return s
	case <-connection.CloseChan():
		return nil
	}
}

// Handler forwards to what listens at the address of a port, as an API server or a kubelet
// does; a connection to a port without an address fails.
func Handler(t testing.TB, address func(r *http.Request, port int) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			t.Error(err)
		}
		streams := make(chan httpstream.Stream, 2)
		connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
			streams <- s
			return nil
		})
		if connection == nil {
			t.Error("no connection")
			return
		}
		defer connection.Close()
		wrong, data := next(streams, connection), next(streams, connection)
		if data == nil {
			return
		}
		port, err := strconv.Atoi(data.Headers().Get(corev1.PortHeader))
		if err != nil {
			t.Error(err)
		}
		addr := address(r, port)
		if addr == "" {
			fmt.Fprint(wrong, "nobody listens")
			wrong.Close()
			<-connection.CloseChan()
			return
		}
		backend, err := net.Dial("tcp", addr)
		if err != nil {
			t.Error(err)
			return
		}
		defer backend.Close()
		go func() { // the client has left: end the backend's connection
			<-connection.CloseChan()
			backend.Close()
		}()
		go func() { _, _ = io.Copy(backend, data) }()
		_, _ = io.Copy(data, backend)
		data.Close()
		wrong.Close()
		<-connection.CloseChan()
	})
}
