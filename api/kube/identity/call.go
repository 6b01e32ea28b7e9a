package identity

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Bearer returns the token that came with a gRPC call, "" without one.
func Bearer(ctx context.Context) string {
	for _, value := range metadata.ValueFromIncomingContext(ctx, "authorization") {
		if scheme, token, ok := strings.Cut(value, " "); ok && strings.EqualFold(scheme, "bearer") {
			return strings.TrimSpace(token)
		}
	}
	return ""
}

// Results of Identify, as Judge and metrics name them.
const (
	Accepted  = "accepted"
	Refused   = "refused"   // no token, or not an agent's
	Throttled = "throttled" // the API server was not asked
	Unknown   = "unknown"   // it could not be asked
)

// Judge returns the result that an error of Identify stands for, and the status
// to end a gRPC call with, nil for none.
func Judge(err error) (result string, end error) {
	switch {
	case err == nil:
		return Accepted, nil
	case errors.Is(err, ErrToken):
		return Refused, status.Error(codes.Unauthenticated, err.Error())
	case errors.Is(err, ErrRefused):
		return Refused, status.Error(codes.PermissionDenied, err.Error())
	case errors.Is(err, ErrThrottled):
		return Throttled, status.Error(codes.ResourceExhausted, err.Error())
	}
	return Unknown, status.Errorf(codes.Unavailable, "the API server does not say whose token it is: %v", err)
}
