package server

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// base is what the paths of the interface begin with.
const base = "/external/v1"

// route is a row of the table: a method of a path, what right it takes and what it is
// answered with. /openapi.json is made of it.
type route struct {
	method, path, summary string
	// verb and kind are the right that it takes, external a job's data alone; without a
	// verb the handler asks, if there is anything to ask.
	verb     Verb
	kind     wire.Kind
	external bool
	// anonymous rows need no token; long ones may take longer than others; those of seed
	// are of the default namespace.
	anonymous, long, seed bool
	query                 []parameter
	// body is of bodyType, of any shape if it is nil.
	body     any
	bodyType string
	// answers are the bodies by status, without problems; nil has no body. problems are the
	// statuses beyond those that any row may answer with.
	answers  map[int]any
	problems []int
	serve    func(*Server, *call) error
}

// either is an answer of one type or another.
type either []any

// parameter is one of the query; without values it takes any text.
type parameter struct {
	name, summary string
	values        []string
}

var (
	ofNamespace = parameter{name: "namespace", summary: "Only objects of the namespace; without it, of all."}
	pageLimit   = parameter{name: "limit", summary: "The greatest number of objects of the page."}
	pageToken   = parameter{name: "continue", summary: "What the page before had as continue."}
	withSlots   = parameter{name: "slots", summary: "Whether slots are included.", values: []string{"true", "false"}}
	dryRun      = parameter{name: "dryRun", summary: "Nothing is created; the answer is a Plan.", values: []string{"All"}}
)

func routes() []route {
	testbed, job := base+"/namespaces/{namespace}/testbeds/{name}", base+"/namespaces/{namespace}/jobs/{name}"
	schedulings := base + "/namespaces/{namespace}/schedulings"
	scheduling := schedulings + "/{name}"
	return slices.Concat(
		lists(Store.Testbeds), lists(Store.Jobs), lists(Store.Schedulings),
		[]route{
			{method: http.MethodGet, path: testbed, summary: "A test bed.", verb: Get, kind: wire.Testbeds, query: []parameter{withSlots},
				answers: map[int]any{200: wire.Testbed{}, 304: nil}, problems: []int{404}, serve: (*Server).getTestbed},
			{method: http.MethodGet, path: testbed + "/slots", summary: "The slots of a test bed.", verb: Get, kind: wire.Testbeds,
				answers: map[int]any{200: []wire.Slot{}, 304: nil}, problems: []int{404}, serve: (*Server).getSlots},
			{method: http.MethodGet, path: job, summary: "A job.", verb: Get, kind: wire.Jobs,
				answers: map[int]any{200: wire.Job{}, 304: nil}, problems: []int{404}, serve: getOne(Store.Job)},
			{method: http.MethodPut, path: job + "/external", summary: "Replace what outside programs keep in a job.",
				verb: Update, kind: wire.Jobs, external: true, bodyType: jsonType,
				answers: map[int]any{200: wire.Job{}}, problems: []int{404, 412, 413, 415, 422}, serve: (*Server).setExternal},
			{method: http.MethodPatch, path: job + "/external", summary: "Merge into what outside programs keep in a job.",
				verb: Patch, kind: wire.Jobs, external: true, bodyType: mergePatchType,
				answers: map[int]any{200: wire.Job{}}, problems: []int{404, 412, 413, 415, 422}, serve: (*Server).patchExternal},
			{method: http.MethodPost, path: schedulings, summary: "Create a scheduling, or say what it would lead to.",
				verb: Create, kind: wire.Schedulings, query: []parameter{dryRun}, body: wire.Scheduling{}, bodyType: jsonType,
				answers: map[int]any{200: either{wire.Scheduling{}, wire.Plan{}}, 201: wire.Scheduling{}}, problems: []int{404, 409, 413, 415, 422}, serve: (*Server).createScheduling},
			{method: http.MethodGet, path: scheduling, summary: "A scheduling.", verb: Get, kind: wire.Schedulings,
				answers: map[int]any{200: wire.Scheduling{}, 304: nil}, problems: []int{404}, serve: getOne(Store.Scheduling)},
			{method: http.MethodPut, path: scheduling, summary: "Replace a scheduling.", verb: Update, kind: wire.Schedulings,
				body: wire.Scheduling{}, bodyType: jsonType,
				answers: map[int]any{200: wire.Scheduling{}}, problems: []int{404, 412, 413, 415, 422}, serve: (*Server).replaceScheduling},
			{method: http.MethodDelete, path: scheduling, summary: "Delete a scheduling.", verb: Delete, kind: wire.Schedulings,
				answers: map[int]any{204: nil}, problems: []int{404, 412}, serve: (*Server).deleteScheduling},
			{method: http.MethodGet, path: base + "/overview", summary: "Everything but the slots, and where to go on watching from.",
				query: []parameter{ofNamespace}, answers: map[int]any{200: wire.Overview{}}, serve: (*Server).overview},
			{method: http.MethodGet, path: base + "/openapi.json", summary: "This description.",
				answers: map[int]any{200: json.RawMessage{}, 304: nil}, serve: (*Server).schema},
			{method: http.MethodGet, path: base + "/watch", summary: "Follow objects, over WebSocket.", long: true,
				answers: map[int]any{101: nil}, problems: []int{426}, serve: (*Server).watch},
			{method: http.MethodPost, path: base + "/session", summary: "Exchange a token for a session's cookie.", anonymous: true,
				body: wire.Login{}, bodyType: jsonType, answers: map[int]any{200: wire.Session{}}, problems: []int{401, 413, 415, 422, 500, 503}, serve: (*Server).login},
			{method: http.MethodGet, path: base + "/session", summary: "Who the caller is.",
				answers: map[int]any{200: wire.Session{}}, serve: (*Server).who},
			{method: http.MethodDelete, path: base + "/session", summary: "Take the session's cookie away.", anonymous: true,
				answers: map[int]any{204: nil}, serve: (*Server).logout},
		})
}

// lists returns the lists of a kind: of all namespaces or one by the query, and of the path's.
func lists[T wire.Resource](list lister[T]) []route {
	var none T
	kind := none.ObjectKind()
	all := route{method: http.MethodGet, path: base + "/" + string(kind), summary: "A page of " + string(kind) + ".",
		verb: List, kind: kind, query: []parameter{ofNamespace, pageLimit, pageToken},
		answers: map[int]any{200: wire.List[T]{}}, serve: listPage(list)}
	one := all
	one.path, one.query, one.problems = base+"/namespaces/{namespace}/"+string(kind), all.query[1:], []int{404}
	return []route{all, one}
}
