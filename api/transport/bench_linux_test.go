package transport_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/api/transport"
)

// BenchmarkConnection opens a connection, makes one call and closes it. CPU time includes both ends.
func BenchmarkConnection(b *testing.B) {
	a := newAuthority(b, "ca")
	server := a.config(b, "server")
	server.ClientCAFile = ""
	trusting := transport.Config{CAFile: a.file}
	for _, c := range []struct {
		name           string
		server, client transport.Config
		again          bool // resumes an earlier session
	}{
		{"plaintext", transport.Config{}, transport.Config{}, true},
		{"tls/first", server, trusting, false},
		{"tls/again", server, trusting, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			target, stop := listen(b, c.server, models{})
			defer stop()
			options, err := transport.DialOptions(target, c.client)
			if err != nil {
				b.Fatal(err)
			}
			before := cpuTime(b)
			b.ReportAllocs()
			for b.Loop() {
				if !c.again {
					if options, err = transport.DialOptions(target, c.client); err != nil {
						b.Fatal(err)
					}
				}
				if err := push(b, target, options); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
