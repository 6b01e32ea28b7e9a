package controlplane

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
)

// logFile takes what Kubernetes and etcd have to say, errors only, so that it
// does not run across a terminal. What is written after Close is dropped.
type logFile struct {
	mu   sync.Mutex
	file *os.File
}

func openLog(path string) (*logFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return &logFile{file: file}, nil
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return len(p), nil
	}
	return l.file.Write(p)
}

// Sync is what zap asks of a sink; the log is not worth an fsync.
func (l *logFile) Sync() error { return nil }

// Close may be called more than once.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// redirectKlog sends klog here for the rest of the process: klog is a global,
// and goroutines of Kubernetes outlive the server that started them.
func (l *logFile) redirectKlog() {
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelError})))
}

// zap returns a logger for etcd, which logs its fatal errors and then ends the
// process; here it ends the goroutine and tells fatal instead.
func (l *logFile) zap(fatal func(error)) *zap.Logger {
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(zap.NewProductionEncoderConfig()), l, zapcore.ErrorLevel)
	hook := fatalHook{fatal}
	return zap.New(core, zap.WithFatalHook(hook), zap.WithPanicHook(hook), zap.ErrorOutput(zapcore.AddSync(io.Discard)))
}
