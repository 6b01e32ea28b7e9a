package server_test

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/api/kube/server"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// Agents report their nodes' room to schedulers; no caller has the right to an unknown method.
func ExampleRight() {
	for _, method := range []string{spaziov1.SignalService_Publish_FullMethodName, "/spazio.v1.SignalService/Erase"} {
		role, somebody := server.Right(method)
		fmt.Printf("%q %v\n", role, somebody)
	}
	// Output:
	// "agent" true
	// "" false
}
