package identity

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// maxToken is beyond what the API server makes: the kubelet's tokens take a
// KiB.
const maxToken = 8 << 10

var errNoJWT = errors.New("not a JSON web token")

// maxExpiry is the year 9999: a later time is not one that time.Time can write.
const maxExpiry = 253402300799

// tokenClaims are a token's claims about itself. They are not verified: that is
// the API server's.
type tokenClaims struct {
	Subject   string
	Audiences []string
	// Until is when the token expires; zero if it has no time.
	Until time.Time
	// Node is the node of the pod that the token is bound to; empty if it is not bound.
	Node string
}

// parseClaims reads a JSON web token's claims.
func parseClaims(token string) (tokenClaims, error) {
	if len(token) > maxToken {
		return tokenClaims{}, fmt.Errorf("%w: it has %d bytes", errNoJWT, len(token))
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return tokenClaims{}, errNoJWT
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return tokenClaims{}, fmt.Errorf("%w: %w", errNoJWT, err)
	}
	var raw struct {
		Sub        string    `json:"sub"`
		Aud        audiences `json:"aud"`
		Exp        *float64  `json:"exp"`
		Kubernetes struct {
			Node struct {
				Name string `json:"name"`
			} `json:"node"`
		} `json:"kubernetes.io"`
	}
	if err := json.Unmarshal(payload, &raw); err != nil {
		return tokenClaims{}, fmt.Errorf("%w: %w", errNoJWT, err)
	}
	claims := tokenClaims{Subject: raw.Sub, Audiences: raw.Aud, Node: raw.Kubernetes.Node.Name}
	if raw.Exp != nil {
		if !(*raw.Exp >= 1 && *raw.Exp <= maxExpiry) {
			return tokenClaims{}, fmt.Errorf("%w: it expires at %v", errNoJWT, *raw.Exp)
		}
		claims.Until = time.Unix(int64(math.Floor(*raw.Exp)), 0)
	}
	return claims, nil
}

// audiences may be one string or several (RFC 7519 §4.1.3).
type audiences []string

// UnmarshalJSON reads either.
func (a *audiences) UnmarshalJSON(text []byte) error {
	var one *string
	if json.Unmarshal(text, &one) == nil {
		if one != nil {
			*a = audiences{*one}
		}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(a))
}

// refuse returns what is wrong with a token by its own claims, so that the API
// server need not be asked.
func (r *Reviewer) refuse(c tokenClaims) error {
	switch {
	case !c.Until.IsZero() && !r.now().Before(c.Until):
		return fmt.Errorf("%w: it has expired", ErrToken)
	case !slices.Contains(c.Audiences, r.config.Audience):
		return fmt.Errorf("%w for audience %q", ErrToken, r.config.Audience)
	case r.config.Anyone:
		return nil
	case c.Subject != r.user:
		return fmt.Errorf("%w: it is that of %q, want %q", ErrRefused, c.Subject, r.user)
	case c.Node == "" && r.config.Unbound:
		return nil
	case c.Node == "":
		return fmt.Errorf("%w: it is not bound to a pod on a node", ErrRefused)
	case r.config.Node != nil && !r.config.Node(c.Node):
		return fmt.Errorf("%w: node %q is not in the cluster", ErrRefused, c.Node)
	}
	return nil
}
