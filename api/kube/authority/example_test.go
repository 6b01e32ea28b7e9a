package authority_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/spazio-scheduler/spazio/api/kube/authority"
)

// A server's certificate is issued on the first day and replaced after 60.
func ExampleEnsure() {
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	client := fake.NewClientset(
		&corev1.Secret{ObjectMeta: in("spazio-ca")}, &corev1.Secret{ObjectMeta: in("web-tls")},
		&corev1.ConfigMap{ObjectMeta: in("spazio-trust")},
	)
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for range 62 { // days
		changes, err := authority.Ensure(context.Background(), client.CoreV1(), authority.Config{
			Namespace: "shop", ClusterDomain: "cluster.local", Servers: []authority.Server{{Name: "web"}},
			Now: func() time.Time { return now },
		})
		if err != nil {
			fmt.Println(err)
		}
		for _, c := range changes {
			fmt.Println(strings.TrimSpace(fmt.Sprintln(now.Format(time.DateOnly), c.Kind, c.Name)))
		}
		now = now.AddDate(0, 0, 1)
	}
	// Output:
	// 2026-11-22 authorities
	// 2026-11-22 bundle shop
	// 2026-11-22 leaf web
	// 2027-01-21 leaf web
}
