package server_test

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/spazio-scheduler/spazio/api/kube/server"
	_ "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// TestEveryMethodHasARight in every service.
func TestEveryMethodHasARight(t *testing.T) {
	methods := 0
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				methods++
				name := "/" + string(service.FullName()) + "/" + string(service.Methods().Get(j).Name())
				if _, ok := server.Right(name); !ok {
					t.Errorf("no right is defined for %s", name)
				}
			}
		}
		return true
	})
	if methods < 7 {
		t.Errorf("got %d methods", methods)
	}
	if role, ok := server.Right("/spazio.v1.ModelService/Forget"); ok {
		t.Errorf("an unknown method may be called by %s", role)
	}
}
