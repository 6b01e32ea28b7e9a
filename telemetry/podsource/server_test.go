package podsource_test

import (
	"errors"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
)

// Server is a gRPC server on a unix socket that can be stopped.
type Server struct {
	t        testing.TB
	Path     string
	register func(*grpc.Server)
	running  *grpc.Server
	ended    chan struct{}
}

// NewServer returns a server that is down.
func NewServer(t testing.TB, register func(*grpc.Server)) *Server {
	s := &Server{t: t, Path: filepath.Join(t.TempDir(), "s"), register: register}
	t.Cleanup(s.Down)
	return s
}

// Up starts it.
func (s *Server) Up() {
	s.t.Helper()
	listener, err := net.Listen("unix", s.Path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.running, s.ended = grpc.NewServer(), make(chan struct{})
	s.register(s.running)
	go func(server *grpc.Server, ended chan struct{}) {
		defer close(ended)
		if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			s.t.Error(err)
		}
	}(s.running, s.ended)
}

// Down stops it and closes connections.
func (s *Server) Down() {
	if s.running != nil {
		s.running.Stop()
		<-s.ended
		s.running = nil
	}
}
