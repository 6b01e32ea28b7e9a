package transport

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"slices"
	"sync"

	"google.golang.org/grpc/credentials"
)

// files holds the contents of a Config's files, and reads them again when one has
// changed: it asks at each handshake, so that a rotated certificate takes effect
// with the next connection. It is safe for concurrent use.
type files struct {
	config Config
	read   func(Config) (*tls.Config, error)

	mu   sync.Mutex
	seen []os.FileInfo // of the files that current was read from
	tls  *tls.Config
	grpc credentials.TransportCredentials
}

// open reads the files for the first time.
func open(c Config, read func(Config) (*tls.Config, error)) (*files, error) {
	f := &files{config: c, read: read}
	return f, f.load(f.stat())
}

// current returns the present contents. Files that can't be used, as when a
// certificate has been replaced and its key not yet, leave the former ones in
// effect and are tried again at the next handshake.
func (f *files) current() (*tls.Config, credentials.TransportCredentials) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if seen := f.stat(); !f.same(seen) {
		_ = f.load(seen)
	}
	return f.tls, f.grpc
}

func (f *files) load(seen []os.FileInfo) error {
	config, err := f.read(f.config)
	if err != nil {
		return err
	}
	f.seen, f.tls, f.grpc = seen, config, credentials.NewTLS(config)
	return nil
}

// stat follows links, so that a Kubernetes secret's volume, which swaps a link
// to a directory, counts as changed. A missing file is nil.
func (f *files) stat() []os.FileInfo {
	var infos []os.FileInfo
	for _, path := range []string{f.config.CertFile, f.config.KeyFile, f.config.CAFile, f.config.ClientCAFile} {
		info, err := os.Stat(path)
		if err != nil {
			info = nil
		}
		infos = append(infos, info)
	}
	return infos
}

func (f *files) same(infos []os.FileInfo) bool {
	return slices.EqualFunc(infos, f.seen, func(now, then os.FileInfo) bool {
		if now == nil || then == nil {
			return now == nil && then == nil
		}
		return os.SameFile(now, then) && now.ModTime().Equal(then.ModTime()) && now.Size() == then.Size()
	})
}

// handshakes are gRPC credentials that use the files' contents at each handshake.
type handshakes struct{ files *files }

func (h handshakes) creds() credentials.TransportCredentials {
	_, creds := h.files.current()
	return creds
}

// ClientHandshake calls that of the credentials in effect.
func (h handshakes) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return h.creds().ClientHandshake(ctx, authority, conn)
}

// ServerHandshake calls that of the credentials in effect.
func (h handshakes) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return h.creds().ServerHandshake(conn)
}

// Info names the protocol.
func (h handshakes) Info() credentials.ProtocolInfo { return h.creds().Info() }

// Clone returns credentials over the same files.
func (h handshakes) Clone() credentials.TransportCredentials { return h }

// OverrideServerName does nothing: clients set the authority when they dial.
func (h handshakes) OverrideServerName(string) error { return nil }
