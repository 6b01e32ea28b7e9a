package podforward

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/spazio-scheduler/spazio/field"
)

// Config of a Transport. All fields are needed.
type Config struct {
	// Cluster leads to the API server.
	Cluster *rest.Config
	// Namespace has the pods.
	Namespace string
	// Port is the one on the pod's loopback.
	Port int
	// Find chooses the pod.
	Find Finder
}

// Errors of this package; match them with errors.Is.
var (
	// errInvalid is in every field.Error.
	errInvalid = errors.New("invalid configuration or input")
	// errRefused is that of an answer that neither forwards nor says why as the API
	// does; one that does is an API error, for k8s.io/apimachinery/pkg/api/errors.
	errRefused = errors.New("the API server does not forward")
)

// validate returns a *field.Error for the first field that can't be used.
func (c Config) validate() error {
	refuse := func(name string, value any, want string) error {
		return &field.Error{Package: "podforward", Field: name, Value: value, Err: fmt.Errorf("%w: want %s", errInvalid, want)}
	}
	switch {
	case c.Cluster == nil:
		return refuse("Cluster", nil, "the way to an API server")
	case c.Namespace == "":
		return refuse("Namespace", c.Namespace, "a namespace")
	case c.Port < 1 || c.Port > 65535:
		return refuse("Port", c.Port, "1 to 65535")
	case c.Find == nil:
		return refuse("Find", nil, "a Finder")
	}
	return nil
}

// Transport is an http.RoundTripper whose requests end at the pod, whatever host their
// URL names. Each has a connection to the API server of its own, which ends with the
// response's body or the request's context, also while it is being opened. It is safe
// for concurrent use.
type Transport struct {
	config  Config
	client  kubernetes.Interface
	upgrade http.RoundTripper // by HTTP/1.1, which alone can be upgraded
}

// New returns a Transport; it sends no request yet. Errors are *field.Error, or client-go's
// of a Cluster that it can't make a client of.
func New(c Config) (*Transport, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(c.Cluster)
	if err != nil {
		return nil, err
	}
	plain := rest.CopyConfig(c.Cluster)
	plain.NextProtos = []string{"http/1.1"}
	upgrade, err := rest.TransportFor(plain)
	if err != nil {
		return nil, err
	}
	return &Transport{config: c, client: client, upgrade: upgrade}, nil
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	pod, err := t.config.Find(ctx, t.client, t.config.Namespace)
	if err != nil {
		return nil, err
	}
	connection, err := t.connect(ctx, pod)
	if err != nil {
		return nil, fmt.Errorf("forward port %d of pod %s: %w", t.config.Port, pod, err)
	}
	stop := context.AfterFunc(ctx, func() { connection.Close() })
	end := func() {
		stop()
		connection.Close()
	}
	over := &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return t.stream(connection) },
	}
	// Programs on a loopback only accept requests for that host name.
	asked := request.Clone(ctx)
	asked.Host = net.JoinHostPort("localhost", strconv.Itoa(t.config.Port))
	response, err := over.RoundTrip(asked)
	if err != nil {
		end()
		return nil, ended(ctx, err)
	}
	response.Body = &body{response.Body, ctx, end}
	return response, nil
}

// ended is why a connection ended: its request's end, where that closed it.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// body ends the connection that it came by.
type body struct {
	io.ReadCloser
	ctx context.Context // the request's
	end func()
}

// Read does not take an answer that was cut short by the request's end for a whole one.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	return n, ended(b.ctx, err)
}

func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// connect opens the connection whose streams the API server forwards. It returns as
// soon as ctx ends, with nothing of it left behind.
func (t *Transport) connect(ctx context.Context, pod string) (httpstream.Connection, error) {
	target := t.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(t.config.Namespace).Name(pod).SubResource("portforward").URL()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set(httpstream.HeaderConnection, httpstream.HeaderUpgrade)
	request.Header.Set(httpstream.HeaderUpgrade, spdy.HeaderSpdy31)
	request.Header.Set(httpstream.HeaderProtocolVersion, portforward.PortForwardProtocolV1Name)
	response, err := t.upgrade.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	raw, switched := response.Body.(io.ReadWriteCloser)
	if response.StatusCode != http.StatusSwitchingProtocols || !switched {
		defer response.Body.Close()
		return nil, refusal(response)
	}
	return spdy.NewClientConnectionWithPings(upgraded{ReadWriteCloser: raw}, pingPeriod)
}

// pingPeriod is kubectl's: proxies on the way take a silent connection for dead.
const pingPeriod = 5 * time.Second

// refusal is the error of an API server that does not forward.
func refusal(response *http.Response) error {
	const most = 64 << 10
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return fmt.Errorf("%s: %w", response.Status, err)
	}
	var said metav1.Status
	if json.Unmarshal(text, &said) == nil && said.Message != "" {
		return &apierrors.StatusError{ErrStatus: said}
	}
	return fmt.Errorf("%w: %s %s", errRefused, response.Status, bytes.TrimSpace(text))
}

// stream opens a pair of streams: one that says what is wrong, and the data's.
func (t *Transport) stream(connection httpstream.Connection) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(t.config.Port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	wrong, err := connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	_ = wrong.Close() // this side sends nothing on it
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
	return streamConn{Stream: data}, nil
}
