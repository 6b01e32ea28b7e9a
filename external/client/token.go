package client

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// TokenSource returns the token to show. It is asked for each request, and must be safe for
// concurrent use.
type TokenSource func(ctx context.Context) (string, error)

// StaticToken is always the same token.
func StaticToken(token string) TokenSource {
	return func(context.Context) (string, error) { return token, nil }
}

// TokenFile reads the token from a file each time, as a kubelet replaces it before it ends.
func TokenFile(path string) TokenSource {
	return func(context.Context) (string, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("client: token: %w", err)
		}
		return strings.TrimSpace(string(data)), nil
	}
}
