package install

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// An uninstallation keeps the controllers that test beds need for their end. With force they are
// removed, whatever they wait for, unless other objects depend on them.
func TestUninstallWithTestbeds(t *testing.T) {
	c, client := control(t)
	defer remove(t, c)
	before := inventory(t)
	if err := c.Install(withTimeout(t), objects(t, deploy.Config{Components: []string{"testbed"}}), deploy.Options{}); err != nil {
		t.Fatal(err)
	}
	config := cluster.Plane(t).RESTConfig()
	config.ContentType = ""
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	beds := untyped.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Testbeds)).Namespace(metav1.NamespaceDefault)
	bed := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"nodeLabel": "example.com/slots", "slotsPerNode": int64(2), "resourcesPerSlot": map[string]any{"cpu": "1"},
	}}}
	bed.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Testbed"))
	bed.SetName("bed")
	bed.SetFinalizers([]string{v1alpha1.FinalizerPlaceholders})
	cluster.Eventually(t, "Testbeds are served", func() (bool, any) {
		_, err := beds.Create(t.Context(), bed, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err), err
	})
	var used *deploy.InUseError
	if err := c.Uninstall(withTimeout(t), deploy.Options{}); !errors.As(err, &used) || len(used.Users) != 1 ||
		used.Users[0].String() != "testbeds.testbed.spazio-scheduler.github.io default/bed" {
		t.Errorf("%v", err)
	}
	if _, err := client.AppsV1().Deployments(deploy.SystemNamespace).Get(t.Context(), "spazio-testbed", metav1.GetOptions{}); err != nil {
		t.Errorf("refused, but changed: %v", err)
	}
	if err := c.Uninstall(withTimeout(t), deploy.Options{Force: true}); err != nil {
		t.Fatal(err)
	}
	if more := difference(before, inventory(t)); len(more) > 0 {
		t.Errorf("got remaining %v", more)
	}
}
