package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// reviewsPath is the API server's.
const reviewsPath = "/apis/authentication.k8s.io/v1/tokenreviews"

// maxAnswer is beyond any review, which repeats the token and lists some groups.
const maxAnswer = 1 << 20

// NewReviews returns Reviews of the API server that a configuration leads to. It
// is one request, which needs no client of all of Kubernetes' types: that would
// double a small program.
func NewReviews(config *rest.Config) (Reviews, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("identity: client for token reviews: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("identity: address for token reviews: %w", err)
	}
	return &poster{client: client, url: base.JoinPath(reviewsPath).String()}, nil
}

type poster struct {
	client *http.Client
	url    string
}

// Create has a token reviewed; it passes over the options.
func (p *poster) Create(ctx context.Context, review *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	asked := review.DeepCopy()
	asked.APIVersion, asked.Kind = authenticationv1.SchemeGroupVersion.String(), "TokenReview"
	body, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusCreated && response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the API server answered %s", response.Status)
	}
	answer := &authenticationv1.TokenReview{}
	if err := json.Unmarshal(text, answer); err != nil {
		return nil, fmt.Errorf("the API server's answer: %w", err)
	}
	return answer, nil
}
