package server

import (
	"google.golang.org/grpc/health/grpc_health_v1"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// Role is what a caller has to be.
type Role string

const (
	// anyone may make calls that reveal nothing of the cluster.
	anyone Role = "anyone"
	// agent is a node's agent, and speaks of that node.
	agent Role = "agent"
	// peer is another replica of an aggregator.
	peer Role = "peer"
	// controller gives nodes slots by what a scheduler knows of them.
	controller Role = "controller"
)

// rights are by a method's full name; other methods may not be called. The scheduler's methods are
// here to complete the list: package plugin reviews the tokens itself.
var rights = map[string]Role{
	spaziov1.SignalService_Publish_FullMethodName: agent,
	spaziov1.ModelService_Push_FullMethodName:     agent,
	spaziov1.UsageService_Report_FullMethodName:   agent,
	spaziov1.PeerService_Changes_FullMethodName:   peer,
	spaziov1.RoomService_Watch_FullMethodName:     controller,
	grpc_health_v1.Health_Check_FullMethodName:    anyone,
	grpc_health_v1.Health_List_FullMethodName:     anyone,
	grpc_health_v1.Health_Watch_FullMethodName:    anyone,
}

// Right returns who may call a method, by its full name; false if no caller may.
func Right(method string) (Role, bool) {
	role, ok := rights[method]
	return role, ok
}
