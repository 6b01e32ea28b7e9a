package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	_ "github.com/spazio-scheduler/spazio/testcluster/embedded/internal/etcdquiet"
)

// ControlPlane is a running etcd and kube-apiserver. It is safe for concurrent
// use.
type ControlPlane struct {
	dir       string
	log       *logFile
	authority *authority
	etcd      *etcdServer
	api       *apiServer

	failed   chan struct{} // closed after err is set
	failOnce sync.Once
	err      error

	closeOnce sync.Once
	closeErr  error
}

var started atomic.Bool

// Start runs a control plane until Close, and returns when its API is ready and
// pods can be created in the namespace default (with [Config.Managed] as soon as
// the controller manager has made its service account). A ctx that ends early abandons
// the start, nothing more. When Start fails it leaves neither ports nor files
// behind.
func Start(ctx context.Context, config Config) (*ControlPlane, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	c := &ControlPlane{failed: make(chan struct{})}
	if err := c.start(ctx, config); err != nil {
		return nil, errors.Join(fmt.Errorf("embedded: %w", err), c.Close())
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context, config Config) (err error) {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case started.Load():
		return errStarted
	}
	parent, err := config.dir()
	if err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp(parent, dirPrefix); err != nil {
		return fmt.Errorf("make a data directory: %w", err)
	}
	if c.log, err = openLog(filepath.Join(c.dir, "controlplane.log")); err != nil {
		return err
	}
	if c.authority, err = newAuthority(c.dir); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", netip.AddrPortFrom(config.address(), uint16(config.APIPort)).String())
	if err != nil {
		return fmt.Errorf("kube-apiserver's port: %w", err)
	}
	if c.etcd, err = startEtcd(ctx, c.dir, c.log, c.fail); err != nil {
		return errors.Join(err, listener.Close())
	}
	// Until here no global of Kubernetes was touched, and a start may be tried
	// again.
	if !started.CompareAndSwap(false, true) {
		return errors.Join(errStarted, listener.Close())
	}
	c.log.redirectKlog(c.fail)
	options := serverOptions(config, c.dir, listener, c.etcd.endpoint, c.authority)
	var audit *auditHook
	if config.Audit != nil {
		audit = &auditHook{call: config.Audit}
	}
	if c.api, err = startAPIServer(ctx, c.dir, listener, options, audit, c.fail); err != nil {
		return err
	}
	return c.api.waitReady(ctx, c.RESTConfig(), c.failed, c.Err)
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
			c.closeErr = fmt.Errorf("embedded: close: %w", err)
		}
	})
	return c.closeErr
}
