package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
	"github.com/spazio-scheduler/spazio/testcluster/embedded/controllers"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// step is a part of a cluster that is brought up.
type step struct {
	what string
	run  func(context.Context) error
}

// bring brings up parts in order and reports how long each took.
func bring(ctx context.Context, say func(format string, args ...any), steps ...step) error {
	for _, step := range steps {
		began := time.Now()
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("start the %s: %w", step.what, err)
		}
		say("%-22s ready after %.1f s", step.what, time.Since(began).Seconds())
	}
	return nil
}

// install applies what an installation with the components does, except what would run in
// pods.
func install(ctx context.Context, plane *embedded.ControlPlane, components ...string) error {
	objects, err := deploy.Config{Components: components}.Objects()
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		switch o.GroupVersionKind().Group {
		case "", "rbac.authorization.k8s.io", "scheduling.k8s.io", "apiextensions.k8s.io", "admissionregistration.k8s.io":
			return o.GetKind() == "Service"
		}
		return true
	})
	installer, err := deploy.Connect(plane.RESTConfig())
	if err != nil {
		return err
	}
	return installer.Install(ctx, objects, deploy.Options{NoWait: true})
}

// define has the cluster know all kinds of Spazio; those of test beds are for manifests of the user's
// own.
func (c *cluster) define(ctx context.Context, d *demo) error {
	if d.keeps() {
		return install(ctx, c.plane, "testbed")
	}
	return install(ctx, c.plane)
}

// startControllers runs Kubernetes' controllers until the services stop.
func startControllers(ctx context.Context, plane *embedded.ControlPlane, services *simnode.Group) error {
	running, err := controllers.Start(ctx, plane, controllers.Options{Discovery: time.Second, Namespaces: true})
	if err != nil {
		return err
	}
	services.OnStop(running.Close)
	return nil
}

// writeAccountKubeconfig writes a kubeconfig of one of Spazio's service accounts.
func writeAccountKubeconfig(ctx context.Context, plane *embedded.ControlPlane, account string) (path string, err error) {
	access, err := plane.ServiceAccountConfig(ctx, deploy.SystemNamespace, account)
	if err != nil {
		return "", err
	}
	path = filepath.Join(plane.Dir(), account+".kubeconfig")
	return path, embedded.WriteKubeconfig(path, access)
}
