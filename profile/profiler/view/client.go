// Package view shows WorkloadProfiles to people: a [Client] reads them with List and Get,
// [ListTable], [CallTable] and [AdviceTable] are tables of them, [Text] describes one, and
// [Manifest] is what its owner applies to follow the recommendation, of the containers
// that [Client.Template] finds.
package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
)

// refuse returns a *field.Error that wraps profile.ErrInvalid; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "view", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", profile.ErrInvalid, want)}
}

// Client reads profiles. It is safe for concurrent use.
type Client struct{ rest rest.Interface }

// NewClient prepares a client; the API server is not asked anything yet.
func NewClient(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // it asks one question after another
	config.ContentType, config.AcceptContentTypes = "application/json", ""
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &v1alpha1.GroupVersion, "/apis", v1alpha1.Codecs
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	return &Client{client}, nil
}

// pageSize is how many profiles are read at once.
const pageSize = 500

// List returns the profiles of a namespace, all if it is empty, in the order of their
// namespaces and workloads. Errors of the reading methods are the API server's.
func (c *Client) List(ctx context.Context, namespace string) ([]v1alpha1.WorkloadProfile, error) {
	var all []v1alpha1.WorkloadProfile
	for next := ""; ; {
		var list v1alpha1.WorkloadProfileList
		// The codecs know no parameters; these two are all there are.
		request := c.rest.Get().Namespace(namespace).Resource(v1alpha1.Profiles).Param("limit", fmt.Sprint(pageSize))
		if next != "" {
			request = request.Param("continue", next)
		}
		if err := request.Do(ctx).Into(&list); err != nil {
			return nil, fmt.Errorf("list profiles: %w", err)
		}
		all = append(all, list.Items...)
		if next = list.Continue; next == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b v1alpha1.WorkloadProfile) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Spec.Workload.Kind, b.Spec.Workload.Kind), cmp.Compare(a.Spec.Workload.Name, b.Spec.Workload.Name))
	})
	return all, nil
}

// Get returns the profile of a workload of a namespace. The kind may be in lower case,
// and is Deployment where there is none, as in "web".
func (c *Client) Get(ctx context.Context, namespace, workload string) (*v1alpha1.WorkloadProfile, error) {
	of, err := parse(workload)
	if err != nil {
		return nil, err
	}
	p := &v1alpha1.WorkloadProfile{}
	err = c.rest.Get().Namespace(namespace).Resource(v1alpha1.Profiles).Name(v1alpha1.NameOf(of.In(namespace))).Do(ctx).Into(p)
	if err != nil {
		return nil, fmt.Errorf("profile of %s/%s in namespace %s: %w", of.Kind, of.Name, namespace, err)
	}
	return p, nil
}

// kinds are those that kubectl's users write in lower case.
var kinds = []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "CronJob", "Job", "Pod", "Workload"}

// parse reads KIND/NAME, or the name of a Deployment.
func parse(workload string) (v1alpha1.WorkloadReference, error) {
	kind, name, ok := strings.Cut(workload, "/")
	if !ok {
		kind, name = kinds[0], workload
	}
	if kind == "" || name == "" || strings.Contains(name, "/") {
		return v1alpha1.WorkloadReference{}, refuse("workload", workload, "KIND/NAME, or the name of a Deployment")
	}
	for _, k := range kinds {
		if strings.EqualFold(k, kind) {
			kind = k
		}
	}
	return v1alpha1.Reference(profile.Workload{Kind: kind, Name: name}), nil
}

// holds names the conditions that hold, except for Ready.
func holds(p *v1alpha1.WorkloadProfile) (names []string) {
	for _, c := range p.Status.Conditions {
		if c.Status == metav1.ConditionTrue && c.Type != v1alpha1.Ready {
			names = append(names, c.Type)
		}
	}
	slices.Sort(names)
	return names
}
