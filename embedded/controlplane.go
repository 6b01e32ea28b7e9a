package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"

	_ "github.com/spazio-scheduler/spazio/embedded/internal/etcdquiet"
)

// ErrStarted is returned by a second Start in one process.
var ErrStarted = errors.New("this process has already started a kube-apiserver")

// FieldError names a field of Config whose value is out of its range.
type FieldError struct {
	Field string
	Value any
	Want  string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("controlplane: %s is %v, want %s", e.Field, e.Value, e.Want)
}

// Config says where a control plane lives. The zero value is ready to use.
type Config struct {
	// Dir is the directory in which the control plane makes its own temporary
	// one; default os.TempDir().
	Dir string
	// Logger is told when the control plane starts and stops; default: nobody.
	Logger *slog.Logger
	// APIPort is the loopback port of kube-apiserver; 0 picks a free one.
	APIPort int
}

// Validate returns a *FieldError for a port out of range.
func (c Config) Validate() error {
	if c.APIPort < 0 || c.APIPort > 65535 {
		return &FieldError{Field: "APIPort", Value: c.APIPort, Want: "0 to 65535"}
	}
	return nil
}

// ControlPlane is a running etcd and kube-apiserver. Its methods may be called
// from several goroutines.
type ControlPlane struct {
	dir    string
	logger *slog.Logger
	log    *logFile
	api    *apiServer
	etcd   *etcdServer

	failed   chan struct{} // closed after err is set
	failOnce sync.Once
	err      error

	closeOnce sync.Once
	closeErr  error
}

var started atomic.Bool

// Start runs a control plane until Close, and returns when its API is ready and
// pods can be created in the namespace default. A ctx that ends early abandons
// the start, nothing more. When Start fails it leaves neither ports nor files
// behind.
func Start(ctx context.Context, config Config) (*ControlPlane, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	c := &ControlPlane{logger: config.Logger, failed: make(chan struct{})}
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	if err := c.start(ctx, config); err != nil {
		return nil, errors.Join(fmt.Errorf("controlplane: %w", err), c.Close())
	}
	c.logger.Info("control plane ready", "server", c.api.url(), "dir", c.dir)
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context, config Config) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.dir, err = os.MkdirTemp(config.Dir, "spazio-"); err != nil {
		return fmt.Errorf("make a data directory: %w", err)
	}
	if c.log, err = openLog(filepath.Join(c.dir, "controlplane.log")); err != nil {
		return err
	}
	c.log.redirectKlog(c.fail)
	listener, err := listen(config.APIPort)
	if err != nil {
		return err
	}
	if c.etcd, err = startEtcd(ctx, c.dir, c.log, c.fail); err != nil {
		return errors.Join(err, listener.Close())
	}
	// Until here no global of Kubernetes was touched, and a start may be tried
	// again.
	if !started.CompareAndSwap(false, true) {
		return errors.Join(ErrStarted, listener.Close())
	}
	if c.api, err = startAPIServer(ctx, c.dir, listener, c.etcd.endpoint, c.fail); err != nil {
		return err
	}
	return c.api.waitReady(ctx, c.failed, c.Err)
}

// fail records the first reason for which the control plane died by itself.
func (c *ControlPlane) fail(err error) {
	c.failOnce.Do(func() {
		c.err = err
		close(c.failed)
	})
}

// Failed is closed when etcd or kube-apiserver dies by itself, on a full disk
// for instance; Err says why.
func (c *ControlPlane) Failed() <-chan struct{} { return c.failed }

// Err returns nil until Failed is closed.
func (c *ControlPlane) Err() error {
	select {
	case <-c.failed:
		return c.err
	default:
		return nil
	}
}

// RESTConfig returns a new client configuration with all rights, protobuf and
// no rate limit.
func (c *ControlPlane) RESTConfig() *rest.Config { return c.api.restConfig() }

// Dir returns the directory that holds data, credentials and the log; Close
// removes it.
func (c *ControlPlane) Dir() string { return c.dir }

// Close stops kube-apiserver and etcd, waits for them and removes the directory
// that Start made. Further calls return the first one's result.
func (c *ControlPlane) Close() error {
	c.closeOnce.Do(func() {
		var errs []error
		if c.api != nil {
			errs = append(errs, c.api.close())
		}
		if c.etcd != nil {
			errs = append(errs, c.etcd.close())
		}
		if c.log != nil {
			errs = append(errs, c.log.Close())
		}
		if c.dir != "" {
			errs = append(errs, os.RemoveAll(c.dir))
		}
		if err := errors.Join(errs...); err != nil {
			c.closeErr = fmt.Errorf("controlplane: close: %w", err)
		}
		c.logger.Info("control plane closed")
	})
	return c.closeErr
}
