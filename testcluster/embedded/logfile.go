package embedded

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
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
	last string // what was written last
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
	l.last = strings.TrimSpace(string(p))
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
// and goroutines of Kubernetes outlive the server that started them. Where klog
// would end the process, as when a start is broken off, which leaves children
// and files behind, it ends the goroutine and calls fatal.
func (l *logFile) redirectKlog(fatal func(error)) {
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelError})))
	klog.OsExit = func(int) {
		l.mu.Lock()
		reason := l.last
		l.mu.Unlock()
		fatal(fmt.Errorf("kubernetes gave up: %s", reason))
		runtime.Goexit()
	}
}

// zap returns a logger for etcd, which logs its fatal errors and then ends the
// process; here it calls fatal and ends the goroutine instead.
func (l *logFile) zap(fatal func(error)) *zap.Logger {
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(zap.NewProductionEncoderConfig()), l, zapcore.ErrorLevel)
	hook := fatalHook{fatal}
	return zap.New(core, zap.WithFatalHook(hook), zap.WithPanicHook(hook), zap.ErrorOutput(zapcore.AddSync(io.Discard)))
}
