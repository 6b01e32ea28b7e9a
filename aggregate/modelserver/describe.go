package modelserver

import (
	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// swayShare is the share of the weight that Description.sway is stated for.
const swayShare = .01

// Describe implements spaziov1.ModelServiceServer.
func (s *Server) Describe(r *spaziov1.DescribeRequest, stream grpc.ServerStreamingServer[spaziov1.Description]) error {
	p := s.published.Load()
	for _, g := range p.globals {
		if r.GetSchema() != "" && r.GetSchema() != g.Schema {
			continue
		}
		if err := stream.Send(&spaziov1.Description{
			Global:         api.FromFleet(toFleet(g), p.version),
			Clipped:        uint32(g.Clipped),
			Sway:           g.Sway(swayShare),
			MinAgeNanos:    int64(g.Ages.Min),
			MedianAgeNanos: int64(g.Ages.Median),
			MaxAgeNanos:    int64(g.Ages.Max),
		}); err != nil {
			return err
		}
	}
	return nil
}
