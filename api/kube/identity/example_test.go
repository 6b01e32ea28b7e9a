package identity_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/api/kube/identity"
)

// vouching is an API server that accepts every token as the agent's on worker-1.
type vouching struct{ reviewed int }

func (v *vouching) Create(_ context.Context, review *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	v.reviewed++
	review = review.DeepCopy()
	review.Status = authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: review.Spec.Audiences,
		User: authenticationv1.UserInfo{
			Username: "system:serviceaccount:spazio:spazio-agent",
			Extra:    map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {"worker-1"}},
		},
	}
	return review, nil
}

// An agent presents its pod's token twice, and another caller one for another audience, which needs no
// review.
func ExampleReviewer_Identify() {
	token := func(audience string) string {
		claims := `{"aud":["` + audience + `"],"sub":"system:serviceaccount:spazio:spazio-agent","kubernetes.io":{"node":{"name":"worker-1"}}}`
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".signature"
	}
	server := &vouching{}
	reviewer := identity.NewReviewer(identity.Config{
		Reviews: server, ServiceAccount: "spazio/spazio-agent", Audience: "spazio-scheduler",
	})
	from := netip.MustParseAddr("10.0.0.1")
	for _, audience := range []string{"spazio-scheduler", "spazio-scheduler", "vault"} {
		agent, err := reviewer.Identify(context.Background(), from, token(audience))
		fmt.Printf("%q refused: %v\n", agent.Node, errors.Is(err, identity.ErrToken) || errors.Is(err, identity.ErrRefused))
	}
	fmt.Println("reviews:", server.reviewed)
	// Output:
	// "worker-1" refused: false
	// "worker-1" refused: false
	// "" refused: true
	// reviews: 1
}
