package authority

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// errContended reports that another writer changed the objects each time before they could be
// stored. The next run goes on from there.
var errContended = errors.New("others change the certificates at the same time")

// mostRounds bounds how often what is stored is looked at again: after a change,
// and after a conflict with another writer.
const mostRounds = 5

// Ensure stores what is to be changed now, and returns it, also with an error:
// what was stored until then. It is run once a day or so; for some weeks it may fail
// without harm. An error that wraps ErrInvalid is the config's, others are
// errContended and the API server's, such as for an object that is not there.
func Ensure(ctx context.Context, client corev1client.CoreV1Interface, c Config) (made []Change, err error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	wanted := c.leaves()
	for range mostRounds {
		o, err := load(ctx, client, c, wanted)
		if err != nil {
			return made, err
		}
		planned, changes, err := plan(wanted, o.state(c), c.Now())
		if err != nil || len(changes) == 0 {
			return made, err
		}
		if c.DryRun {
			return changes, nil
		}
		for _, change := range changes {
			if err = o.store(ctx, client, change, planned); err != nil {
				break
			}
			made = append(made, change)
			c.Logger.Info("stored", "kind", change.Kind, "name", change.Name, "reason", change.Reason)
		}
		if err != nil && !apierrors.IsConflict(err) {
			return made, err
		}
	}
	return made, fmt.Errorf("%w: not done after %d rounds", errContended, mostRounds)
}
