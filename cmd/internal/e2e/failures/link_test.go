package failures

import (
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// link is a slow connection to a server that can be held: then nothing from clients arrives, while they
// still receive.
type link struct {
	target   string
	delay    time.Duration // of each direction
	listener net.Listener
	serving  sync.WaitGroup

	mu          sync.Mutex
	open        chan struct{} // closed while client data pass
	connections map[net.Conn]bool
	closed      bool
}

// newLink returns the link and a kubeconfig for the server behind it.
func newLink(t *testing.T, kubeconfig string, delay time.Duration) (l *link, slow string) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range config.Clusters {
		server, err := url.Parse(c.Server)
		if err != nil {
			t.Fatal(err)
		}
		l = newLinkTo(t, server.Host, delay)
		server.Host = l.listener.Addr().String()
		c.Server = server.String()
	}
	slow = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, slow); err != nil {
		t.Fatal(err)
	}
	return l, slow
}

func newLinkTo(t *testing.T, target string, delay time.Duration) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{target: target, delay: delay, listener: listener, open: make(chan struct{}), connections: map[net.Conn]bool{}}
	close(l.open)
	l.serving.Go(l.serve)
	t.Cleanup(l.close)
	return l
}

// cut closes the present connections.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.connections {
		c.Close()
	}
	clear(l.connections)
}

func (l *link) serve() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", l.target)
		if err != nil {
			client.Close()
			continue
		}
		if !l.keep(client, server) {
			return
		}
		l.serving.Go(func() { l.carry(server, client, true) })
		l.serving.Go(func() { l.carry(client, server, false) })
	}
}

// keep records connections for close, unless that was called before.
func (l *link) keep(connections ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range connections {
		l.connections[c] = true
		if l.closed {
			c.Close()
		}
	}
	return !l.closed
}

// carry copies from one connection to the other, each piece after the delay.
func (l *link) carry(to, from net.Conn, fromClient bool) {
	type piece struct {
		due  time.Time
		text []byte
	}
	pieces := make(chan piece, 1024)
	l.serving.Go(func() {
		defer from.Close()
		defer to.Close()
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			if fromClient {
				<-l.gate()
			}
			if _, err := to.Write(p.text); err != nil {
				break
			}
		}
		for range pieces { // the reader must not block
		}
	})
	defer close(pieces)
	for {
		text := make([]byte, 32<<10)
		n, err := from.Read(text)
		if n > 0 {
			pieces <- piece{time.Now().Add(l.delay), text[:n]}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				to.Close()
			}
			return
		}
	}
}

func (l *link) gate() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// hold delays client data until release.
func (l *link) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = make(chan struct{})
}

func (l *link) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

func (l *link) close() {
	l.listener.Close()
	l.release()
	l.mu.Lock()
	l.closed = true
	for c := range l.connections {
		c.Close()
	}
	l.mu.Unlock()
	l.serving.Wait()
}
