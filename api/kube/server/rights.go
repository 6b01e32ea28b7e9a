package server

import (
	"google.golang.org/grpc/health/grpc_health_v1"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// Role is what a caller has to be.
type Role string

const (
	// Anyone may make calls that reveal nothing of the cluster.
	Anyone Role = "anyone"
	// Agent is a node's agent, and speaks of that node.
	Agent Role = "agent"
	// Peer is another replica of an aggregator.
	Peer Role = "peer"
	// Controller gives nodes slots by what a scheduler knows of them.
	Controller Role = "controller"
)

// rights are by a method's full name; other methods may not be called. The scheduler's methods are
// here to complete the list: package plugin reviews the tokens itself.
var rights = map[string]Role{
	spaziov1.SignalService_Publish_FullMethodName: Agent,
	spaziov1.ModelService_Push_FullMethodName:     Agent,
	spaziov1.UsageService_Report_FullMethodName:   Agent,
	spaziov1.PeerService_Changes_FullMethodName:   Peer,
	spaziov1.RoomService_Watch_FullMethodName:     Controller,
	grpc_health_v1.Health_Check_FullMethodName:    Anyone,
	grpc_health_v1.Health_List_FullMethodName:     Anyone,
	grpc_health_v1.Health_Watch_FullMethodName:    Anyone,
}

// Right returns who may call a method, by its full name; false if no caller may.
func Right(method string) (Role, bool) {
	role, ok := rights[method]
	return role, ok
}
