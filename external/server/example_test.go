package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
)

// A server with a store in memory gets a request for the test beds of a namespace from a caller who
// may see them, and from one who may not.
func Example() {
	store := servertest.NewStore()
	store.PutTestbed(wire.Testbed{Meta: wire.Meta{Namespace: "team", Name: "lab"}, Ready: true, Nodes: 1})
	callers := servertest.Callers() // an Authenticator and an Authorizer
	s, err := server.New(server.Config{Store: store, Authenticator: callers, Authorizer: callers, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	listener := httptest.NewServer(s)
	for _, token := range []string{servertest.Team, servertest.Nothing} {
		request, _ := http.NewRequest(http.MethodGet, listener.URL+"/external/v1/namespaces/team/testbeds/lab", nil)
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			fmt.Println(err)
			continue
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		fmt.Println(answer.StatusCode, answer.Header.Get("Content-Type"), len(body) > 0)
	}
	listener.Close()
	stop()
	fmt.Println("ended:", <-ended)
	// Output:
	// 200 application/json true
	// 403 application/problem+json true
	// ended: <nil>
}
