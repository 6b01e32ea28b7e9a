package transporttest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Intruder is a connection that speaks HTTP/2 as gRPC does and stops midway: it uses what flow control
// grants and never ends a message. Safe for concurrent use.
type Intruder struct {
	conn   net.Conn
	framer *http2.Framer
	ended  chan struct{}

	mu      sync.Mutex
	served  bool
	changed *sync.Cond
	next    uint32 // stream
	quota   int64  // of the connection
	initial int64  // quota of a new stream
	streams map[uint32]*int64
	err     error
}

// Intrude connects from a local address, the system's choice if it is not valid,
// over TLS unless the config is nil.
func Intrude(ctx context.Context, target string, from netip.Addr, config *tls.Config) (*Intruder, error) {
	dialer := net.Dialer{}
	if from.IsValid() {
		dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	conn, err := dialer.DialContext(ctx, "tcp", target)
	if err != nil {
		return nil, err
	}
	if config != nil {
		config = config.Clone()
		config.NextProtos = []string{"h2"}
		conn = tls.Client(conn, config)
	}
	i := &Intruder{conn: conn, ended: make(chan struct{}), next: 1, quota: 65535, initial: 65535, streams: map[uint32]*int64{}}
	i.changed = sync.NewCond(&i.mu)
	i.framer = http2.NewFramer(conn, conn)
	if err := i.begin(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	go i.read()
	return i, nil
}

func (i *Intruder) begin() error {
	if _, err := i.conn.Write([]byte(http2.ClientPreface)); err != nil {
		return err
	}
	return i.framer.WriteSettings()
}

// Close ends the connection and waits for what reads from it.
func (i *Intruder) Close() {
	_ = i.conn.Close()
	<-i.ended
}

// Done is closed once the connection has ended.
func (i *Intruder) Done() <-chan struct{} { return i.ended }

// Ended returns why the server ended the connection, nil while it has not.
func (i *Intruder) Ended() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

// Served reports whether the server has sent anything.
func (i *Intruder) Served() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.served
}

// Open returns how many of the calls the server has neither refused nor ended.
func (i *Intruder) Open() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err != nil {
		return 0
	}
	return len(i.streams)
}

// Call begins a call with a message that announces a size and sends that many bytes of it at once, in
// frames of at most the given length, as far as flow control allows; it waits for more unless the call
// or the connection ends. It returns the number of sent bytes.
func (i *Intruder) Call(method string, announced, bytesSent, frame int) (sent int, err error) {
	stream, err := i.head(method, "")
	if err != nil {
		return 0, err
	}
	message := make([]byte, 5+bytesSent)
	binary.BigEndian.PutUint32(message[1:], uint32(announced))
	for len(message) > 0 {
		n := i.grant(stream, min(len(message), frame))
		if n == 0 {
			return sent, nil
		}
		if err := i.write(func() error { return i.framer.WriteData(stream, false, message[:n]) }); err != nil {
			return sent, err
		}
		message, sent = message[n:], sent+n
	}
	return sent, nil
}

// Head begins a call with a further header of the given value, and no message.
func (i *Intruder) Head(method, value string) error {
	_, err := i.head(method, value)
	return err
}

func (i *Intruder) head(method, value string) (uint32, error) {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "server"},
		{"content-type", "application/grpc"}, {"te", "trailers"}, {"value", value},
	} {
		_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true}) // into memory
	}
	i.mu.Lock()
	stream := i.next
	i.next += 2
	quota := i.initial
	i.streams[stream] = &quota
	fragment := block.Next(maxFrame)
	err := i.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: fragment, EndHeaders: block.Len() == 0})
	for err == nil && block.Len() > 0 {
		fragment = block.Next(maxFrame)
		err = i.framer.WriteContinuation(stream, block.Len() == 0, fragment)
	}
	i.mu.Unlock()
	return stream, err
}

// maxFrame is the largest frame without a setting of its reader.
const maxFrame = 16 << 10

func (i *Intruder) write(frame func() error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return frame()
}

// grant waits for flow control; 0 means that the stream has ended.
func (i *Intruder) grant(stream uint32, want int) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	for {
		quota := i.streams[stream]
		if quota == nil || i.err != nil {
			return 0
		}
		if n := min(int64(want), *quota, i.quota, maxFrame); n > 0 {
			*quota -= n
			i.quota -= n
			return int(n)
		}
		i.changed.Wait()
	}
}

func (i *Intruder) read() {
	defer close(i.ended)
	for {
		frame, err := i.framer.ReadFrame()
		i.mu.Lock()
		if err == nil {
			i.served = true
			err = i.handle(frame)
		}
		if err != nil {
			i.err = err
		}
		i.changed.Broadcast()
		i.mu.Unlock()
		if err != nil {
			_ = i.conn.Close()
			return
		}
	}
}

var errGoAway = errors.New("the server goes away")

func (i *Intruder) handle(frame http2.Frame) error {
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
			for _, quota := range i.streams {
				*quota += int64(v) - i.initial
			}
			i.initial = int64(v)
		}
		return i.framer.WriteSettingsAck()
	case *http2.PingFrame:
		if !f.IsAck() {
			return i.framer.WritePing(true, f.Data)
		}
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			i.quota += int64(f.Increment)
		} else if quota := i.streams[f.StreamID]; quota != nil {
			*quota += int64(f.Increment)
		}
	case *http2.RSTStreamFrame:
		delete(i.streams, f.StreamID)
	case *http2.HeadersFrame:
		if f.StreamEnded() {
			delete(i.streams, f.StreamID)
		}
	case *http2.GoAwayFrame:
		return fmt.Errorf("%w: %v", errGoAway, f.ErrCode)
	}
	return nil
}
