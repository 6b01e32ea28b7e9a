package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap/zapcore"
)

// etcdStopTime is how long a stopping etcd may take. A healthy one needs some
// ten milliseconds; one whose raft loop died would never end.
const etcdStopTime = 5 * time.Second

type etcdServer struct {
	server   *embed.Etcd
	endpoint string
	died     <-chan struct{} // etcd's own goroutines gave up
}

// fatalHook reports a fatal error and ends the goroutine that logged it.
type fatalHook struct{ report func(error) }

func (h fatalHook) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	err := errors.New(entry.Message)
	for _, field := range fields {
		if cause, ok := field.Interface.(error); ok && field.Type == zapcore.ErrorType {
			err = fmt.Errorf("%s: %w", entry.Message, cause)
		}
	}
	h.report(fmt.Errorf("etcd: %w", err))
	runtime.Goexit()
}

// startEtcd runs a one-member etcd that answers on a socket in dir, which no
// other user can reach, and never syncs: the data die with the process anyhow.
func startEtcd(ctx context.Context, dir string, log *logFile, fail func(error)) (*etcdServer, error) {
	fatal := make(chan error, 1)
	died := make(chan struct{})
	logger := log.zap(func(err error) {
		select {
		case fatal <- err:
			close(died)
		default:
		}
		fail(err)
	})
	config := etcdConfig(dir)
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)

	type outcome struct {
		server *embed.Etcd
		err    error
	}
	done := make(chan outcome, 1)
	go func() { // a goroutine of its own, for the hook to end
		server, err := embed.StartEtcd(config)
		done <- outcome{server, err}
	}()
	select {
	case out := <-done:
		if out.err != nil {
			return nil, fmt.Errorf("start etcd: %w", out.err)
		}
		e := &etcdServer{server: out.server, endpoint: config.ListenClientUrls[0].String(), died: died}
		if err := e.waitReady(ctx, fatal); err != nil {
			return nil, err
		}
		return e, nil
	case err := <-fatal:
		return nil, fmt.Errorf("start: %w", err)
	}
}

func socketPath(dir string) string { return filepath.Join(dir, "etcd.sock") }

func etcdConfig(dir string) *embed.Config {
	config := embed.NewConfig()
	config.Name = "spazio"
	config.Dir = filepath.Join(dir, "etcd")
	config.UnsafeNoFsync = true
	// A new member elects itself after 5 ticks at most. It has no peers whose
	// heartbeats could be late.
	config.TickMs, config.ElectionMs = 20, 100
	socket := url.URL{Scheme: "unix", Path: socketPath(dir)}
	config.ListenClientUrls = []url.URL{socket}
	// A member without peers needs no port for them. The advertised URLs are not
	// read, but may not be sockets.
	config.ListenPeerUrls = nil
	nowhere := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config.AdvertisePeerUrls, config.AdvertiseClientUrls = []url.URL{nowhere}, []url.URL{nowhere}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	return config
}

func (e *etcdServer) waitReady(ctx context.Context, fatal <-chan error) error {
	var err error
	select {
	case <-e.server.Server.ReadyNotify():
		return nil
	case err = <-fatal:
	case err = <-e.server.Err():
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return errors.Join(fmt.Errorf("start etcd: %w", err), e.close())
}

func (e *etcdServer) close() error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		e.server.Close()
	}()
	select {
	case <-closed:
		return nil
	case <-e.died:
		return nil // what is left of it waits for a goroutine that ended
	case <-time.After(etcdStopTime):
		return fmt.Errorf("etcd did not stop within %v", etcdStopTime)
	}
}
