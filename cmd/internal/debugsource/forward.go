package debugsource

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// forwarded asks a port on the loopback of a pod, to which the API server
// forwards: debug data are nowhere else, and the right to them is that to
// pods/portforward. No port is opened on this machine.
type forwarded struct {
	source Source
	config *rest.Config
	client kubernetes.Interface
	find   Finder
}

// Fetch finds the pod and asks it.
func (f *forwarded) Fetch(ctx context.Context, path string, query url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, f.source.Timeout)
	defer cancel()
	pod, err := f.find(ctx, f.client, f.source.Namespace)
	if err != nil {
		return nil, err
	}
	connection, err := f.connect(pod)
	if err != nil {
		return nil, fmt.Errorf("forward port %s of pod %s: %w", f.source.Port, pod, err)
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { connection.Close() })()
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return f.stream(connection) },
	}}
	base := &url.URL{Scheme: "http", Host: net.JoinHostPort("localhost", f.source.Port)}
	return (&direct{base: base, client: client}).Fetch(ctx, path, query)
}

// connect opens the connection whose streams the API server forwards.
func (f *forwarded) connect(pod string) (httpstream.Connection, error) {
	round, upgrader, err := spdy.RoundTripperFor(f.config)
	if err != nil {
		return nil, err
	}
	target := f.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(f.source.Namespace).Name(pod).SubResource("portforward").URL()
	connection, _, err := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: round}, http.MethodPost, target).Dial(portforward.PortForwardProtocolV1Name)
	return connection, err
}

// stream opens a pair of streams: one that says what is wrong, and the data's.
func (f *forwarded) stream(connection httpstream.Connection) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, f.source.Port)
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	wrong, err := connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	_ = wrong.Close() // nothing is said on it from here
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	go func() {
		if text, _ := io.ReadAll(wrong); len(text) > 0 {
			_ = data.Reset() // the port can't be reached
		}
	}()
	return streamConn{data}, nil
}

// streamConn is a stream as a connection without deadlines: its request's end
// closes the connection that it is part of.
type streamConn struct{ httpstream.Stream }

// LocalAddr is none.
func (streamConn) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr is none.
func (streamConn) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline does nothing.
func (streamConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (streamConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (streamConn) SetWriteDeadline(time.Time) error { return nil }
