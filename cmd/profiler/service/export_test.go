package service

import "net"

// MetricsAddr returns where /metrics, /healthz and /readyz are shown, or nil.
func (s *Service) MetricsAddr() net.Addr { return s.shown.MetricsAddr() }
