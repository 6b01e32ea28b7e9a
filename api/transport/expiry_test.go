package transport_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/api/transport"
)

// certificate returns a certificate that ends at a time, and its key, as PEM.
func certificate(t *testing.T, end time.Time) (certificate, key []byte) {
	t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.AddDate(-3, 0, 0), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, signer.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

// TestNotAfter: the authority of a bundle that expires first counts; keys, broken and missing files are
// ignored.
func TestNotAfter(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	first, _ := certificate(t, now.Add(730*day))
	second, _ := certificate(t, now.Add((370+730)*day))
	own, key := certificate(t, now.Add((370+90)*day))
	write := func(text []byte) string {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	leaf, bundle := write(own), write(append(second, first...))
	for _, tt := range []struct {
		config transport.Config
		want   map[string]time.Time
	}{
		{transport.Config{}, nil},
		{transport.Config{CertFile: leaf, KeyFile: "none"}, map[string]time.Time{"own": now.Add((370 + 90) * day)}},
		{
			transport.Config{CertFile: leaf, CAFile: bundle, ClientCAFile: bundle},
			map[string]time.Time{"own": now.Add((370 + 90) * day), "servers": now.Add(730 * day), "clients": now.Add(730 * day)},
		},
		{transport.Config{CertFile: write(key), CAFile: filepath.Join(t.TempDir(), "none"), ClientCAFile: write([]byte("broken"))}, nil},
	} {
		got := tt.config.NotAfter()
		if !maps.EqualFunc(got, tt.want, time.Time.Equal) {
			t.Errorf("%+v: %v (%v), want %v", tt.config, got, slices.Sorted(maps.Keys(got)), tt.want)
		}
	}
}
