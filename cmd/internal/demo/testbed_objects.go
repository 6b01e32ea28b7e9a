package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// audience is that of tokens for the interface.
const audience = "spazio-external"

// submit makes a BatchJob of each job.
func (c *testbedCluster) submit(ctx context.Context, jobs []testbedJob) error {
	for _, j := range jobs {
		spec, err := json.Marshal(map[string]any{"template": map[string]any{
			"metadata": map[string]any{"annotations": map[string]string{
				simnode.AnnotationWork:    fmt.Sprint(j.CPUSeconds),
				simnode.AnnotationCores:   fmt.Sprint(j.Cores),
				simnode.AnnotationStartup: "0.5",
			}},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": image}}},
		}})
		if err != nil {
			return err
		}
		err = c.create(ctx, v1alpha1.BatchJobs, &v1alpha1.BatchJob{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BatchJob"},
			ObjectMeta: metav1.ObjectMeta{Name: j.Name},
			Spec:       v1alpha1.BatchJobSpec{JobSpec: &runtime.RawExtension{Raw: spec}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// create makes an object of a kind of ours.
func (c *testbedCluster) create(ctx context.Context, kind string, object any) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	_, err = c.objects.Resource(v1alpha1.GroupVersion.WithResource(kind)).Namespace(namespace).
		Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	return err
}

// invite makes the account of the outside program, lets it do what such programs may, and
// keeps what it shows to the interface.
func (c *testbedCluster) invite(ctx context.Context) error {
	accounts := c.client.CoreV1().ServiceAccounts(namespace)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := c.client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "spazio-external-scheduler"},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	seconds := int64(24 * time.Hour / time.Second)
	request, err := accounts.CreateToken(ctx, account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}, ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	c.token = request.Status.Token
	return nil
}
