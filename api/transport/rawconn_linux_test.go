//go:build !race

package transport_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
)

// pair returns a rawConn and its other end.
func pair(t *testing.T) (raw, other net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if other, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	raw = transport.WithRawIO(conn)
	if raw == conn {
		t.Fatal("a TCP connection was not wrapped")
	}
	t.Cleanup(func() { raw.Close(); other.Close() })
	return raw, other
}

// TestRawConnMovesAll transfers more than the kernel buffers, both ways at once, with a slow reader.
func TestRawConnMovesAll(t *testing.T) {
	raw, other := pair(t)
	sent := make([]byte, 16<<20)
	for i := range sent {
		sent[i] = byte(rand.Uint32())
	}
	wrote := make(chan error, 1)
	go func() {
		n, err := raw.Write(sent)
		if err == nil && n != len(sent) {
			err = io.ErrShortWrite
		}
		wrote <- err
	}()
	echoed := make(chan error, 1)
	go func() {
		_, err := io.Copy(other, io.LimitReader(other, int64(len(sent))))
		echoed <- err
	}()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(raw, got); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-wrote, <-echoed); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, sent) {
		t.Error("the received bytes differ from the sent ones")
	}
}

func TestRawConnEnds(t *testing.T) {
	var b [1]byte
	t.Run("other end closes", func(t *testing.T) {
		raw, other := pair(t)
		other.Close()
		if _, err := raw.Read(b[:]); !errors.Is(err, io.EOF) {
			t.Errorf("Read: %v", err)
		}
	})
	t.Run("other end resets", func(t *testing.T) {
		raw, other := pair(t)
		if err := other.(*net.TCPConn).SetLinger(0); err != nil {
			t.Fatal(err)
		}
		other.Close()
		var failed *net.OpError
		if _, err := raw.Read(b[:]); !errors.As(err, &failed) || failed.Op != "read" {
			t.Errorf("Read: %v", err)
		}
		if _, err := raw.Write(b[:]); !errors.As(err, &failed) || failed.Op != "write" {
			t.Errorf("Write: %v", err)
		}
	})
	t.Run("closed while it waits", func(t *testing.T) {
		raw, _ := pair(t)
		read := make(chan error, 1)
		go func() {
			_, err := raw.Read(b[:])
			read <- err
		}()
		raw.Close()
		if err := <-read; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read: %v", err)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		raw, other := pair(t)
		if err := raw.SetDeadline(time.Now().Add(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := raw.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read: %v", err)
		}
		if err := raw.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Write(b[:]); err != nil {
			t.Fatal(err)
		}
		if n, err := raw.Read(b[:]); n != 1 || err != nil {
			t.Errorf("Read after the deadline was lifted: %d, %v", n, err)
		}
	})
	t.Run("no room", func(t *testing.T) {
		raw, _ := pair(t)
		if n, err := raw.Read(nil); n != 0 || err != nil {
			t.Errorf("Read: %d, %v", n, err)
		}
	})
}

func TestRawConnDoesNotAllocate(t *testing.T) {
	raw, other := pair(t)
	b := make([]byte, 100)
	if got := testing.AllocsPerRun(100, func() {
		if _, err := raw.Write(b); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(other, b); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Write(b); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(raw, b); err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("got %v allocations for a message each way", got)
	}
}

// TestOtherConnsAreNotWrapped: a pipe is no socket.
func TestOtherConnsAreNotWrapped(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	defer a.Close()
	if transport.WithRawIO(a) != a {
		t.Error("a pipe was wrapped")
	}
}

// loud is a socket that counts the calls through Go's runtime poller.
type loud struct {
	*net.TCPConn
	reads, writes *atomic.Int64
}

func (l loud) Read(b []byte) (int, error) {
	l.reads.Add(1)
	return l.TCPConn.Read(b)
}

func (l loud) Write(b []byte) (int, error) {
	l.writes.Add(1)
	return l.TCPConn.Write(b)
}

// TestClientsUseRawIO: connections of DialOptions never read or write through the poller.
func TestClientsUseRawIO(t *testing.T) {
	identity := transporttest.SelfSigned(t, "127.0.0.1")
	for name, c := range map[string]struct{ server, client transport.Config }{
		"plaintext": {},
		"TLS":       {transport.Config{CertFile: identity.CertFile, KeyFile: identity.KeyFile}, transport.Config{CAFile: identity.CAFile}},
	} {
		t.Run(name, func(t *testing.T) {
			target, stop := listen(t, c.server, models{})
			defer stop()
			options, err := transport.DialOptions(target, c.client)
			if err != nil {
				t.Fatal(err)
			}
			var dialled, reads, writes atomic.Int64
			err = push(t, target, append(options, grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				var d net.Dialer
				conn, err := d.DialContext(ctx, "tcp", addr)
				if err != nil {
					return nil, err
				}
				dialled.Add(1)
				return loud{conn.(*net.TCPConn), &reads, &writes}, nil
			})))
			if err != nil || dialled.Load() == 0 {
				t.Fatalf("%d connections: %v", dialled.Load(), err)
			}
			if reads.Load()+writes.Load() > 0 {
				t.Errorf("got %d reads and %d writes that woke the monitor thread", reads.Load(), writes.Load())
			}
		})
	}
}
