package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// seedRoutes are the paths of the thesis, of one namespace. Behind the name of a kind, a
// solidus makes no difference.
func seedRoutes() []route {
	const beds, jobs, schedulings = "/external/testbeds", "/external/jobs", "/external/schedulings"
	const get = http.MethodGet
	rows := []route{
		{method: get, path: beds, verb: List, kind: wire.Testbeds, serve: seedList(Store.Testbeds)},
		{method: get, path: beds + "/{name}", verb: Get, kind: wire.Testbeds, serve: seedGet(Store.Testbed)},
		{method: get, path: jobs, verb: List, kind: wire.Jobs, serve: (*Server).seedListJobs},
		{method: http.MethodPut, path: jobs, serve: (*Server).seedPutJob},
		{method: get, path: jobs + "/{name}", verb: Get, kind: wire.Jobs, serve: seedGet(Store.Job)},
		{method: get, path: schedulings, verb: List, kind: wire.Schedulings, serve: seedList(Store.Schedulings)},
		{method: http.MethodPost, path: schedulings, verb: Create, kind: wire.Schedulings, serve: (*Server).seedPostScheduling},
		{method: get, path: schedulings + "/{name}", verb: Get, kind: wire.Schedulings, serve: seedGet(Store.Scheduling)},
		{method: http.MethodDelete, path: schedulings + "/{name}", verb: Delete, kind: wire.Schedulings, serve: (*Server).seedDeleteScheduling},
		{method: get, path: "/scheduler", anonymous: true, long: true, serve: (*Server).stomp},
	}
	for i := range rows {
		rows[i].seed = true
		if slashed := rows[i]; slashed.path == beds || slashed.path == jobs || slashed.path == schedulings {
			slashed.path += "/{$}"
			rows = append(rows, slashed)
		}
	}
	return rows
}

// seedList answers with the bodies of what is listed.
func seedList[T wire.Resource](list lister[T]) func(*Server, *call) error {
	return func(s *Server, c *call) error {
		objects, err := listed(s, c, list)
		if err != nil {
			return err
		}
		bodies := make([]any, len(objects))
		for i, o := range objects {
			if bodies[i], err = s.seedBody(c.r.Context(), o); err != nil {
				return err
			}
		}
		return c.answer(http.StatusOK, bodies)
	}
}

// seedListJobs has jobs by their names.
func (s *Server) seedListJobs(c *call) error {
	objects, err := listed(s, c, Store.Jobs)
	if err != nil {
		return err
	}
	byName := make(object, len(objects))
	for _, o := range objects {
		byName[o.Name] = newSeedJob(o)
	}
	return c.answer(http.StatusOK, byName)
}

func seedGet[T wire.Resource](get getter[T]) func(*Server, *call) error {
	return func(s *Server, c *call) error {
		o, err := gotten(s, c, get)
		return s.seedAnswer(c, o, err)
	}
}

// seedAnswer answers with the object, or returns why there is none.
func (s *Server) seedAnswer(c *call, object wire.Resource, err error) error {
	if err != nil {
		return err
	}
	body, err := s.seedBody(c.r.Context(), object)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, body)
}

// seedPutJob writes what outside programs keep in the job that the body names; all else in
// the body is left aside. Whoever writes last is right, as in the thesis.
func (s *Server) seedPutJob(c *call) error {
	var body struct {
		Name              string          `json:"name"`
		ExternalScheduler json.RawMessage `json:"externalScheduler"`
	}
	if err := s.decode(c, wire.DecodeKnown, &body); err != nil {
		return err
	}
	if !wire.ValidName(body.Name) {
		return seedInvalid(wire.Cause{Field: "name", Reason: wire.Required, Message: "must be a job's"})
	}
	access := Access{Verb: Update, Kind: wire.Jobs, Namespace: c.namespace, Name: body.Name, External: true}
	if err := s.authorize(c.r.Context(), c.caller, access); err != nil {
		return err
	}
	if err := s.config.Store.Synced(); err != nil {
		return err
	}
	if len(body.ExternalScheduler) == 0 || string(body.ExternalScheduler) == "null" {
		body.ExternalScheduler = json.RawMessage("{}")
	}
	data, err := s.normalExternal(c, body.ExternalScheduler)
	if err != nil {
		return err
	}
	job, err := s.config.Store.SetExternal(c.r.Context(), c.caller, c.namespace, body.Name, "", data)
	return s.seedAnswer(c, job, err)
}

// seedPostScheduling creates a scheduling. The thesis replaces in silence what is there
// already; here, that is a conflict, unless it is the same.
func (s *Server) seedPostScheduling(c *call) error {
	if err := s.config.Store.Synced(); err != nil {
		return err
	}
	var posted seedScheduling
	if err := s.decode(c, wire.DecodeKnown, &posted); err != nil {
		return err
	}
	body := wire.Scheduling{Meta: wire.Meta{Name: posted.Name}}
	var causes []wire.Cause
	body.SchedulingSpec, causes = posted.spec()
	if !wire.ValidName(body.Name) {
		causes = append(causes, badName)
	}
	for _, cause := range body.Validate(c.namespace) {
		if cause.Field == "testbed" {
			cause.Field = "testBed"
		}
		causes = append(causes, cause)
	}
	if len(causes) > 0 {
		return seedInvalid(causes...)
	}
	body.SchedulingSpec = body.Normal(c.namespace)
	object, _, err := s.create(c, body)
	return s.seedAnswer(c, object, err)
}

// seedDeleteScheduling answers with the scheduling as it was, and 304 if there was none.
func (s *Server) seedDeleteScheduling(c *call) error {
	o, err := gotten(s, c, Store.Scheduling)
	if err == nil {
		err = s.config.Store.DeleteScheduling(c.r.Context(), c.caller, c.namespace, c.name, "")
	}
	if wire.IsStatus(err, http.StatusNotFound) {
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return s.seedAnswer(c, o, err)
}

// seedInvalid is a problem of status 400, where /external/v1 has 422.
func seedInvalid(causes ...wire.Cause) *wire.Problem {
	return Refuse(http.StatusBadRequest, "The body cannot be as it is.", causes...)
}

// A scheduling on the paths of the thesis. Bodies are as the program of its author has them:
// absent values are null.
type (
	seedScheduling struct {
		Name      string         `json:"name"`
		State     string         `json:"state"`
		JobStatus []seedStatus   `json:"jobStatus"`
		TestBed   string         `json:"testBed"`
		Queue     []string       `json:"queue"`
		Slots     *seedSlotBased `json:"slots"`
	}
	seedStatus struct {
		Name  string `json:"name"`
		State string `json:"state"`
	}
	seedSlotBased struct {
		Mode string        `json:"mode"`
		Jobs []seedSlotJob `json:"jobs"`
	}
	seedSlotJob struct {
		Slots []int  `json:"slots"`
		Name  string `json:"name"`
	}
)

// Names of states. What the thesis's program does not know has the name of what it would
// take it for.
var (
	seedJobStates = map[string]string{
		"Ready": "ReadyState", "InQueue": "InQueueState", "Submitted": "SubmittedState", "Scheduled": "ScheduledState",
		"Running": "RunningState", "Completed": "CompletedState", "Failed": "FailedState", "Releasing": "PendingDeletion",
	}
	seedSchedulingStates = map[string]string{
		"Acquiring": "AcquireState", "Confirming": "ConfirmationState", "Submitting": "SubmissionState",
		"AwaitingCompletion": "AwaitingCompletionState", "Completed": "CompletedState", "Failed": "FailedState",
		"Releasing": "FinishedState",
	}
	// A job that has failed has ended, and one that is released is to be had again.
	seedStatuses = map[string]string{
		"InQueue": "InQueue", "Submitted": "Submitted", "Scheduled": "Scheduled", "Running": "Scheduled", "Completed": "Completed", "Failed": "Completed",
	}
	// Nothing may be put into a slot that is pending or retiring.
	seedSlotStates = map[slot.State]string{
		slot.Free: "FREE", slot.Reserved: "RESERVED", slot.Occupied: "OCCUPIED", slot.Pending: "ERROR", slot.Retiring: "ERROR",
	}
)

// optional is nil for nothing.
func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// seedBody returns the object as the paths of the thesis, and its topics, have it.
func (s *Server) seedBody(ctx context.Context, object wire.Resource) (any, error) {
	switch o := object.(type) {
	case wire.Testbed:
		slots, err := s.config.Store.Slots(ctx, o.Namespace, o.Name)
		return s.newSeedTestbed(o, slots.Slots), err
	case wire.Job:
		return newSeedJob(o), nil
	case wire.Scheduling:
		return s.newSeedScheduling(ctx, o)
	}
	return nil, Refuse(http.StatusNotFound, "The thesis's paths have no such objects.")
}

func (s *Server) newSeedTestbed(o wire.Testbed, slots []wire.Slot) object {
	byNode, most := make(map[string][]object), 0
	for _, one := range slots {
		body := object{
			"reservedFor": optional(s.seedName(one.ReservedFor)), "state": seedSlotStates[one.State], "podName": optional(one.Pod),
			"nodeName": one.Node, "nodeId": -1, "slotPositionOnNode": one.Position, "podUId": optional(one.PodUID), "position": one.Index,
		}
		if one.NodeID != nil {
			body["nodeId"] = *one.NodeID
		}
		byNode[one.Node] = append(byNode[one.Node], body)
		most = max(most, len(byNode[one.Node]))
	}
	return object{"name": o.Name, "state": seedTestbedState(o), "numberOfNodes": o.Nodes, "numberOfSlotsPerNode": most, "slotsByNode": byNode}
}

func seedTestbedState(o wire.Testbed) string {
	switch {
	case !o.Ready && (o.Reason == "NodeConflict" || o.Reason == "TooLarge"):
		return "ERROR"
	case !o.Ready && o.Reason == "" && o.Counts.Slots == 0:
		return "INITIAL"
	case o.Counts.Occupied > 0:
		return "RUNNING"
	case o.Ready && o.Counts.Free == o.Counts.Slots:
		return "SUCCESS"
	}
	return "IN_PROGRESS"
}

func newSeedJob(o wire.Job) object {
	events := []object{}
	for _, run := range o.Runs {
		if run.Started == nil {
			continue
		}
		event := object{"start": run.Started.UTC().Format(time.RFC3339Nano), "stop": nil, "successful": nil, "scheduling": nil}
		if run.Finished != nil {
			event["stop"] = run.Finished.UTC().Format(time.RFC3339Nano)
		}
		if run.Outcome != "" {
			event["successful"] = run.Outcome == "Succeeded"
		}
		if name, err := wire.ParseName(run.Scheduling, o.Namespace); err == nil {
			event["scheduling"] = object{"namespace": name.Namespace, "name": name.Name}
		}
		events = append(events, event)
	}
	return object{"name": o.Name, "state": cmp.Or(seedJobStates[o.State], "UnknownState"), "externalScheduler": o.External, "scheduledEvents": events}
}

// newSeedScheduling has slots by index: the thesis knows no other name of them. Those that
// are no more have none.
func (s *Server) newSeedScheduling(ctx context.Context, o wire.Scheduling) (seedScheduling, error) {
	is := seedScheduling{
		Name: o.Name, State: cmp.Or(seedSchedulingStates[o.State], "InitialState"), TestBed: s.seedName(o.Testbed), JobStatus: []seedStatus{},
	}
	for _, job := range o.Jobs {
		is.JobStatus = append(is.JobStatus, seedStatus{Name: s.seedName(job.Job), State: cmp.Or(seedStatuses[job.State], "Acquiring")})
	}
	for _, job := range o.Queue {
		is.Queue = append(is.Queue, s.seedName(job))
	}
	if o.Slots == nil {
		return is, nil
	}
	bed, err := wire.ParseName(o.Testbed, o.Namespace)
	if err != nil {
		return is, err
	}
	slots, err := s.config.Store.Slots(ctx, bed.Namespace, bed.Name)
	if err != nil && !wire.IsStatus(err, http.StatusNotFound) {
		return is, err
	}
	index := make(map[string]int, len(slots.Slots))
	for _, one := range slots.Slots {
		index[one.ID] = one.Index
	}
	is.Slots = &seedSlotBased{Mode: "strict"}
	if o.Slots.Mode == wire.Relaxed {
		is.Slots.Mode = "relaxed"
	}
	for _, job := range o.Slots.Jobs {
		body := seedSlotJob{Name: s.seedName(job.Job), Slots: []int{}}
		for _, ref := range job.Slots {
			at, there := index[ref.ID.String()]
			if ref.ID == (slot.ID{}) {
				at, there = ref.Index, true
			}
			if there {
				body.Slots = append(body.Slots, at)
			}
		}
		is.Slots.Jobs = append(is.Slots.Jobs, body)
	}
	return is, nil
}

// spec returns the spec of a posted scheduling. An empty queue counts as none.
func (b *seedScheduling) spec() (wire.SchedulingSpec, []wire.Cause) {
	spec := wire.SchedulingSpec{Testbed: b.TestBed, Queue: b.Queue}
	if b.Slots == nil {
		return spec, nil
	}
	var causes []wire.Cause
	modes := map[string]string{"strict": wire.Strict, "relaxed": wire.Relaxed}
	spec.Slots = &wire.SlotBased{Mode: modes[b.Slots.Mode]}
	if spec.Slots.Mode == "" {
		causes = append(causes, wire.Cause{Field: "slots.mode", Reason: wire.Unsupported, Message: "must be strict or relaxed"})
	}
	for i, job := range b.Slots.Jobs {
		one := wire.SlotJob{Job: job.Name}
		for j, index := range job.Slots {
			if index < 0 {
				causes = append(causes, wire.Cause{Field: fmt.Sprintf("slots.jobs[%d].slots[%d]", i, j), Reason: wire.Invalid, Message: "must not be negative"})
			}
			one.Slots = append(one.Slots, slot.Ref{Index: index})
		}
		spec.Slots.Jobs = append(spec.Slots.Jobs, one)
	}
	return spec, causes
}

// seedName is the name by which the thesis's paths have an object: without the namespace,
// which is the default one.
func (s *Server) seedName(text string) string {
	name, err := wire.ParseName(text, s.config.DefaultNamespace)
	if err != nil || name.Namespace != s.config.DefaultNamespace {
		return text
	}
	return name.Name
}
