package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// The bodies of the paths of the thesis, as the program of its author has them: absent
// values are null.
type (
	seedTestbed struct {
		Name                 string                `json:"name"`
		State                string                `json:"state"`
		NumberOfNodes        int                   `json:"numberOfNodes"`
		NumberOfSlotsPerNode int                   `json:"numberOfSlotsPerNode"`
		SlotsByNode          map[string][]seedSlot `json:"slotsByNode"`
	}
	seedSlot struct {
		ReservedFor        *string `json:"reservedFor"`
		State              string  `json:"state"`
		PodName            *string `json:"podName"`
		NodeName           string  `json:"nodeName"`
		NodeID             int     `json:"nodeId"`
		SlotPositionOnNode int     `json:"slotPositionOnNode"`
		PodUID             *string `json:"podUId"`
		Position           int     `json:"position"`
	}
	seedJob struct {
		Name              string          `json:"name"`
		State             string          `json:"state"`
		ExternalScheduler json.RawMessage `json:"externalScheduler"`
		ScheduledEvents   []seedEvent     `json:"scheduledEvents"`
	}
	seedEvent struct {
		Start      string    `json:"start"`
		Stop       *string   `json:"stop"`
		Successful *bool     `json:"successful"`
		Scheduling *seedName `json:"scheduling"`
	}
	seedName struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	}
	seedScheduling struct {
		Name      string          `json:"name"`
		State     string          `json:"state"`
		JobStatus []seedJobStatus `json:"jobStatus"`
		TestBed   string          `json:"testBed"`
		Queue     []string        `json:"queue"`
		Slots     *seedSlotBased  `json:"slots"`
	}
	seedJobStatus struct {
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
	seedJobStatuses = map[string]string{
		"Ready": "Acquiring", "InQueue": "InQueue", "Submitted": "Submitted", "Scheduled": "Scheduled",
		"Running": "Scheduled", "Completed": "Completed", "Failed": "Completed", "Releasing": "Acquiring",
	}
	seedSlotStates = map[slot.State]string{
		slot.Free: "FREE", slot.Reserved: "RESERVED", slot.Occupied: "OCCUPIED",
		// Nothing may be put into either.
		slot.Pending: "ERROR", slot.Retiring: "ERROR",
	}
)

func named(names map[string]string, state, other string) string {
	if name, ok := names[state]; ok {
		return name
	}
	return other
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// seedBody returns the object as the paths of the thesis, and its topics, have it.
func (s *Server) seedBody(ctx context.Context, object any) (any, error) {
	switch o := object.(type) {
	case wire.Testbed:
		return s.seedTestbed(ctx, o)
	case wire.Job:
		return s.seedJob(o), nil
	case wire.Scheduling:
		return s.seedScheduling(ctx, o)
	}
	return nil, Refuse(404, "The thesis's paths have no such objects.")
}

// seedObject is the body of an object that was watched. Of a test bed that has gone
// meanwhile there are no slots.
func (s *Server) seedObject(ctx context.Context, o wire.Object) ([]byte, error) {
	var object any
	var err error
	switch o.Kind {
	case wire.Testbeds:
		object, err = unmarshal[wire.Testbed](o.Object)
	case wire.Jobs:
		object, err = unmarshal[wire.Job](o.Object)
	default:
		object, err = unmarshal[wire.Scheduling](o.Object)
	}
	if err != nil {
		return nil, err
	}
	body, err := s.seedBody(ctx, object)
	var p *wire.Problem
	if err != nil && (!errors.As(err, &p) || p.Status != http.StatusNotFound) {
		return nil, err
	}
	if bed, ok := object.(wire.Testbed); ok && err != nil {
		body = seedTestbed{Name: bed.Name, State: seedTestbedState(bed), NumberOfNodes: bed.Nodes, SlotsByNode: map[string][]seedSlot{}}
	}
	return json.Marshal(body)
}

func unmarshal[T any](data []byte) (T, error) {
	var v T
	err := json.Unmarshal(data, &v)
	return v, err
}

func (s *Server) seedTestbed(ctx context.Context, o wire.Testbed) (seedTestbed, error) {
	is := seedTestbed{Name: o.Name, State: seedTestbedState(o), NumberOfNodes: o.Nodes, SlotsByNode: make(map[string][]seedSlot)}
	slots, err := s.config.Store.Slots(ctx, o.Namespace, o.Name)
	if err != nil {
		return is, err
	}
	for _, one := range slots.Slots {
		body := seedSlot{
			ReservedFor: optional(s.seedName(one.ReservedFor)), State: seedSlotStates[one.State],
			PodName: optional(one.Pod), PodUID: optional(one.PodUID), NodeName: one.Node, NodeID: -1,
			SlotPositionOnNode: one.Position, Position: one.Index,
		}
		if one.NodeID != nil {
			body.NodeID = *one.NodeID
		}
		is.SlotsByNode[one.Node] = append(is.SlotsByNode[one.Node], body)
		is.NumberOfSlotsPerNode = max(is.NumberOfSlotsPerNode, len(is.SlotsByNode[one.Node]))
	}
	return is, nil
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

func (s *Server) seedJob(o wire.Job) seedJob {
	is := seedJob{Name: o.Name, State: named(seedJobStates, o.State, "UnknownState"), ExternalScheduler: o.External, ScheduledEvents: []seedEvent{}}
	for _, run := range o.Runs {
		if run.Started == nil {
			continue
		}
		event := seedEvent{Start: run.Started.UTC().Format(time.RFC3339Nano)}
		if run.Finished != nil {
			event.Stop = optional(run.Finished.UTC().Format(time.RFC3339Nano))
		}
		if run.Outcome != "" {
			successful := run.Outcome == "Succeeded"
			event.Successful = &successful
		}
		if name, err := wire.ParseName(run.Scheduling, o.Namespace); err == nil {
			event.Scheduling = &seedName{Namespace: name.Namespace, Name: name.Name}
		}
		is.ScheduledEvents = append(is.ScheduledEvents, event)
	}
	return is
}

func (s *Server) seedScheduling(ctx context.Context, o wire.Scheduling) (seedScheduling, error) {
	is := seedScheduling{
		Name: o.Name, State: named(seedSchedulingStates, o.State, "InitialState"), TestBed: s.seedName(o.Testbed),
		JobStatus: []seedJobStatus{},
	}
	for _, job := range o.Jobs {
		is.JobStatus = append(is.JobStatus, seedJobStatus{Name: s.seedName(job.Job), State: named(seedJobStatuses, job.State, "Acquiring")})
	}
	for _, job := range o.Queue {
		is.Queue = append(is.Queue, s.seedName(job))
	}
	if o.Slots == nil {
		return is, nil
	}
	index, err := s.seedIndex(ctx, o)
	if err != nil {
		return is, err
	}
	is.Slots = &seedSlotBased{Mode: "strict"}
	if o.Slots.Mode == wire.Relaxed {
		is.Slots.Mode = "relaxed"
	}
	for _, job := range o.Slots.Jobs {
		body := seedSlotJob{Name: s.seedName(job.Job), Slots: []int{}}
		for _, ref := range job.Slots {
			if i, ok := index(ref); ok {
				body.Slots = append(body.Slots, i)
			}
		}
		is.Slots.Jobs = append(is.Slots.Jobs, body)
	}
	return is, nil
}

// seedIndex says which index a slot has: the thesis knows no other name of it. Those that
// are no more have none.
func (s *Server) seedIndex(ctx context.Context, o wire.Scheduling) (func(slot.Ref) (int, bool), error) {
	of := make(map[string]int)
	bed, err := wire.ParseName(o.Testbed, o.Namespace)
	if err != nil {
		return nil, err
	}
	slots, err := s.config.Store.Slots(ctx, bed.Namespace, bed.Name)
	if err != nil && problemOf(err).Status != 404 {
		return nil, err
	}
	for _, one := range slots.Slots {
		of[one.ID] = one.Index
	}
	return func(ref slot.Ref) (int, bool) {
		if ref.ID == (slot.ID{}) {
			return ref.Index, true
		}
		i, ok := of[ref.ID.String()]
		return i, ok
	}, nil
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
