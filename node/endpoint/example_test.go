package endpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/node/endpoint"
)

// A program shows probes why it is not ready yet.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := endpoint.NewServers(ctx, endpoint.ServersConfig{
		Shown: endpoint.Config{
			Gatherer: prometheus.NewRegistry(),
			Ready:    func() error { return errors.New("no report yet") },
		},
		Metrics: "127.0.0.1:0",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	for _, path := range []string{"/healthz", "/readyz"} {
		response, err := http.Get("http://" + s.MetricsAddr().String() + path)
		if err != nil {
			fmt.Println(err)
			continue
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		fmt.Printf("%s: %d %s%v\n", path, response.StatusCode, text, err)
	}
	cancel()
	fmt.Println(<-ended)
	// Output:
	// /healthz: 200 ok
	// <nil>
	// /readyz: 503 no report yet
	// <nil>
	// <nil>
}
