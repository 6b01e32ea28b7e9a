package aggregatord

import (
	"context"
	"encoding/json"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// DebugPath shows the fleet's models: a list of Descriptions as JSON, with
// ?schema=S those of one schema.
const DebugPath = "/debug/model"

func debugHandler(models *modelserver.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		collected := &descriptions{ctx: r.Context(), all: []json.RawMessage{}}
		err := models.Describe(&spaziov1.DescribeRequest{Schema: r.FormValue("schema")}, collected)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(collected.all) // who asked has gone
	})
}

// descriptions collects what Describe sends.
type descriptions struct {
	grpc.ServerStream
	ctx context.Context
	all []json.RawMessage
}

// Context is the request's.
func (d *descriptions) Context() context.Context { return d.ctx }

// Send keeps a description.
func (d *descriptions) Send(m *spaziov1.Description) error {
	text, err := protojson.Marshal(m)
	d.all = append(d.all, text)
	return err
}
