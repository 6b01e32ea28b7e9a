package identity

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

var errNoJWT = errors.New("not a JSON web token")

// maxExpiry is the year 9999: a later time is not one that time.Time can write.
const maxExpiry = 253402300799

// Expiry reads from a JSON web token when it expires; the zero time if it does
// not say. It verifies nothing: that is the API server's.
func Expiry(token string) (time.Time, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, errNoJWT
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %w", errNoJWT, err)
	}
	var claims struct {
		Exp *float64 `json:"exp"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return time.Time{}, fmt.Errorf("%w: %w", errNoJWT, err)
	}
	switch {
	case claims.Exp == nil:
		return time.Time{}, nil
	case !(*claims.Exp > 0 && *claims.Exp <= maxExpiry):
		return time.Time{}, fmt.Errorf("%w: it expires at %v", errNoJWT, *claims.Exp)
	}
	return time.Unix(int64(math.Floor(*claims.Exp)), 0), nil
}
