package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// Testbeds returns those of the namespace, or of all if it is empty, by namespace and name. They
// are read by pages while the caller goes on; an error is the last of the sequence.
func (c *Client) Testbeds(ctx context.Context, namespace string) iter.Seq2[wire.Testbed, error] {
	return pages[wire.Testbed](ctx, c, wire.Testbeds, namespace)
}

// Jobs returns the jobs of the namespace, as Testbeds does.
func (c *Client) Jobs(ctx context.Context, namespace string) iter.Seq2[wire.Job, error] {
	return pages[wire.Job](ctx, c, wire.Jobs, namespace)
}

// Schedulings returns the schedulings of the namespace, as Testbeds does.
func (c *Client) Schedulings(ctx context.Context, namespace string) iter.Seq2[wire.Scheduling, error] {
	return pages[wire.Scheduling](ctx, c, wire.Schedulings, namespace)
}

// Collect returns what a sequence has, or its error.
func Collect[T any](sequence iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for one, err := range sequence {
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// pageSize is how many objects are asked for at a time.
const pageSize = 500

func pages[T any](ctx context.Context, c *Client, kind wire.Kind, namespace string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := url.Values{"limit": {strconv.Itoa(pageSize)}}
		if namespace != "" {
			query.Set("namespace", namespace)
		}
		for {
			var list wire.List[T]
			if _, err := c.do(ctx, request{method: http.MethodGet, path: []string{string(kind)}, query: query}, &list); err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, one := range list.Items {
				if !yield(one, nil) {
					return
				}
			}
			if list.Continue == "" {
				return
			}
			query.Set("continue", list.Continue)
		}
	}
}

func get[T any](ctx context.Context, c *Client, query url.Values, path ...string) (T, error) {
	var v T
	_, err := c.do(ctx, request{method: http.MethodGet, path: path, query: query}, &v)
	return v, err
}

// Testbed returns a test bed with its slots.
func (c *Client) Testbed(ctx context.Context, namespace, name string) (wire.Testbed, error) {
	return get[wire.Testbed](ctx, c, url.Values{"slots": {"true"}}, "namespaces", namespace, "testbeds", name)
}

// Slots returns those of a test bed, in the order of their index.
func (c *Client) Slots(ctx context.Context, namespace, name string) ([]wire.Slot, error) {
	return get[[]wire.Slot](ctx, c, nil, "namespaces", namespace, "testbeds", name, "slots")
}

// Job returns a job.
func (c *Client) Job(ctx context.Context, namespace, name string) (wire.Job, error) {
	return get[wire.Job](ctx, c, nil, "namespaces", namespace, "jobs", name)
}

// Scheduling returns a scheduling.
func (c *Client) Scheduling(ctx context.Context, namespace, name string) (wire.Scheduling, error) {
	return get[wire.Scheduling](ctx, c, nil, "namespaces", namespace, "schedulings", name)
}

// Overview returns the test beds without slots, the jobs and the schedulings of the
// namespace, of all if it is empty, and where to go on watching from.
func (c *Client) Overview(ctx context.Context, namespace string) (wire.Overview, error) {
	var query url.Values
	if namespace != "" {
		query = url.Values{"namespace": {namespace}}
	}
	return get[wire.Overview](ctx, c, query, "overview")
}

// Session returns the caller's name as the server knows it.
func (c *Client) Session(ctx context.Context) (wire.Session, error) {
	return get[wire.Session](ctx, c, nil, "session")
}

// SetExternal replaces what outside programs keep in a job by data, which JSON makes an
// object of: only if the job is of the version, unless that is empty. Else the problem's
// status is 412.
func (c *Client) SetExternal(ctx context.Context, namespace, name, version string, data any) (wire.Job, error) {
	return c.external(ctx, http.MethodPut, jsonType, namespace, name, version, data)
}

// PatchExternal merges the patch into it (RFC 7386): members of the patch replace those
// there are, and null removes them.
func (c *Client) PatchExternal(ctx context.Context, namespace, name, version string, patch any) (wire.Job, error) {
	return c.external(ctx, http.MethodPatch, mergePatchType, namespace, name, version, patch)
}

func (c *Client) external(ctx context.Context, method, bodyType, namespace, name, version string, body any) (wire.Job, error) {
	var job wire.Job
	_, err := c.do(ctx, request{
		method: method, path: []string{"namespaces", namespace, "jobs", name, "external"},
		version: version, body: body, bodyType: bodyType,
	}, &job)
	return job, err
}

// CreateScheduling creates a scheduling, and reports whether it did not exist before: creating the
// same again is no error, while for another one of that name the problem's status is 409.
func (c *Client) CreateScheduling(ctx context.Context, namespace, name string, spec wire.SchedulingSpec) (_ wire.Scheduling, created bool, _ error) {
	var is wire.Scheduling
	status, err := c.do(ctx, schedulingRequest(http.MethodPost, namespace, name, spec), &is)
	return is, status == http.StatusCreated, err
}

// Plan returns what a scheduling would lead to if it were created now.
func (c *Client) Plan(ctx context.Context, namespace, name string, spec wire.SchedulingSpec) (wire.Plan, error) {
	r := schedulingRequest(http.MethodPost, namespace, name, spec)
	r.query = url.Values{"dryRun": {"All"}}
	var plan wire.Plan
	_, err := c.do(ctx, r, &plan)
	return plan, err
}

// ReplaceScheduling gives a scheduling another spec: only if it is of the version, unless
// that is empty. Else the problem's status is 412.
func (c *Client) ReplaceScheduling(ctx context.Context, namespace, name, version string, spec wire.SchedulingSpec) (wire.Scheduling, error) {
	r := schedulingRequest(http.MethodPut, namespace, name, spec)
	r.path, r.version = append(r.path, name), version
	var is wire.Scheduling
	_, err := c.do(ctx, r, &is)
	return is, err
}

// DeleteScheduling deletes a scheduling; it is gone when its jobs are released.
func (c *Client) DeleteScheduling(ctx context.Context, namespace, name, version string) error {
	r := request{method: http.MethodDelete, path: []string{"namespaces", namespace, "schedulings", name}, version: version}
	_, err := c.do(ctx, r, nil)
	return err
}

func schedulingRequest(method, namespace, name string, spec wire.SchedulingSpec) request {
	body := struct {
		Name string `json:"name"`
		wire.SchedulingSpec
	}{name, spec}
	return request{method: method, path: []string{"namespaces", namespace, "schedulings"}, body: body}
}
