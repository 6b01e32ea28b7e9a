package server_test

import (
	"net/http"
	"slices"
	"testing"
)

func (c *contract) seedTestbeds(t *testing.T) {
	named := func(list any) map[string]any {
		t.Helper()
		i := slices.IndexFunc(list.([]any), func(one any) bool { return one.(map[string]any)["name"] == c.Testbed })
		if i < 0 {
			t.Fatalf("no %s in %v", c.Testbed, list)
		}
		return list.([]any)[i].(map[string]any)
	}
	for _, path := range []string{"/external/testbeds", "/external/testbeds/"} {
		named(c.get(t, c.Viewer, path).want(t, http.StatusOK).json)
	}
	bed := c.get(t, c.Viewer, "/external/testbeds/"+c.Testbed).want(t, http.StatusOK)
	states := []any{"IN_PROGRESS", "SUCCESS", "ERROR", "RUNNING", "INITIAL"}
	bed.wrongIf(t, bed.at("name") != c.Testbed || !slices.Contains(states, bed.at("state")) || bed.at("numberOfNodes").(float64) < 1 || bed.at("numberOfSlotsPerNode").(float64) < 1)
	positions := 0
	for node, slots := range bed.at("slotsByNode").(map[string]any) {
		for _, one := range slots.([]any) {
			slot := one.(map[string]any)
			for _, field := range []string{"reservedFor", "state", "podName", "nodeName", "nodeId", "slotPositionOnNode", "podUId", "position"} {
				if _, ok := slot[field]; !ok {
					t.Errorf("no %s in %v", field, slot)
				}
			}
			if slot["nodeName"] != node || !slices.Contains([]any{"FREE", "OCCUPIED", "ERROR", "RESERVED"}, slot["state"]) {
				t.Errorf("%s: %v", node, slot)
			}
			positions++
		}
	}
	bed.wrongIf(t, positions < 2)
	c.get(t, c.Viewer, "/external/testbeds/absent").refused(t, http.StatusNotFound)
}

func (c *contract) seedJobs(t *testing.T) {
	all := c.get(t, c.Viewer, "/external/jobs").want(t, http.StatusOK)
	for _, name := range c.Jobs {
		all.wrongIf(t, all.at(name, "name") != name || all.at(name, "state") != "ReadyState")
	}
	// The thesis's example, §4.1.
	const data = `{"profiler":[{"batchjob-sample3":"31 (8)","flink-wordcount":"24 (16)","spark-pi":"27 (16)"}]}`
	for i, path := range []string{"/external/jobs/", "/external/jobs"} {
		job := `{"name": "` + c.Jobs[i] + `", "state": "CompletedState", "externalScheduler": ` + data + `, "scheduledEvents": []}`
		put := c.put(t, c.Team, path, job).want(t, http.StatusOK)
		put.wrongIf(t, !put.is(t, data, "externalScheduler") || put.at("state") != "ReadyState" || put.at("name") != c.Jobs[i])
		until(t, func() bool {
			return c.get(t, c.Viewer, "/external/jobs/"+c.Jobs[i]).want(t, http.StatusOK).is(t, data, "externalScheduler")
		})
		c.put(t, c.Team, path, `{"name": "`+c.Jobs[i]+`", "externalScheduler": null}`).want(t, http.StatusOK)
	}
	c.put(t, c.Team, "/external/jobs/", `{"name": "absent", "externalScheduler": {}}`).refused(t, http.StatusNotFound)
	c.put(t, c.Team, "/external/jobs/", `{"externalScheduler": {}}`).refused(t, http.StatusBadRequest).names(t, "name")
	c.put(t, c.Team, "/external/jobs/", `{"name": "`).refused(t, http.StatusBadRequest)
	c.get(t, c.Viewer, "/external/jobs/absent").refused(t, http.StatusNotFound)
}

func (c *contract) seedSchedulings(t *testing.T) {
	const list = "/external/schedulings"
	queue := `{"name": "thesis-queue", "testBed": "` + c.Testbed + `", "queue": ["` + c.Jobs[0] + `"], "slots": null, "more": 1}`
	created := c.post(t, c.Team, list, queue).want(t, http.StatusOK)
	created.wrongIf(t, created.at("name") != "thesis-queue" || created.at("testBed") != c.Testbed || !created.is(t, `["`+c.Jobs[0]+`"]`, "queue") || created.at("slots") != nil)
	c.post(t, c.Team, list, queue).want(t, http.StatusOK)
	c.post(t, c.Team, list, `{"name": "thesis-queue", "testBed": "`+c.Testbed+`", "queue": ["`+c.Jobs[1]+`"]}`).refused(t, http.StatusConflict)
	slots := `{"name": "thesis-slots", "testBed": "` + c.Testbed + `", "slots": {"mode": "strict", "jobs": [{"name": "` + c.Jobs[1] + `", "slots": [1, 0]}]}}`
	placed := c.post(t, c.Team, list, slots).want(t, http.StatusOK)
	placed.wrongIf(t, placed.at("queue") != nil || !placed.is(t, `{"jobs":[{"name":"`+c.Jobs[1]+`","slots":[1,0]}],"mode":"strict"}`, "slots"))
	states := []any{"InitialState", "AcquireState", "ConfirmationState", "SubmissionState", "AwaitingCompletionState", "CompletedState", "FailedState", "FinishedState"}
	for _, name := range []string{"thesis-queue", "thesis-slots"} {
		var one *answer
		until(t, func() bool { one = c.get(t, c.Viewer, list+"/"+name); return one.status == http.StatusOK })
		_, ok := one.at("jobStatus").([]any)
		one.wrongIf(t, !ok || !slices.Contains(states, one.at("state")))
	}
	if all := c.get(t, c.Viewer, list).want(t, http.StatusOK).json.([]any); len(all) != 2 {
		t.Errorf("%v", all)
	}
	// In the form of /external/v1 they are the same objects.
	one := c.get(t, c.Viewer, c.in+"/schedulings/thesis-slots").want(t, http.StatusOK)
	one.wrongIf(t, one.at("slots", "mode") != "Strict")
	for _, bad := range []struct{ body, field string }{
		{`{"testBed": "a", "queue": ["a"]}`, "name"},
		{`{"name": "bad", "queue": ["a"]}`, "testBed"},
		{`{"name": "bad", "testBed": "a"}`, "queue"},
		{`{"name": "bad", "testBed": "a", "queue": ["a"], "slots": {"mode": "strict", "jobs": [{"name": "a", "slots": [0]}]}}`, "slots"},
		{`{"name": "bad", "testBed": "a", "slots": {"mode": "Strict", "jobs": [{"name": "a", "slots": [0]}]}}`, "slots.mode"},
		{`{"name": "bad", "testBed": "a", "slots": {"mode": "relaxed", "jobs": [{"name": "a", "slots": [-1]}]}}`, "slots.jobs[0].slots[0]"},
		{`{"name": "bad", "testBed": "a", "slots": {"mode": "relaxed", "jobs": [{"name": "a", "slots": []}]}}`, "slots.jobs[0].slots"},
		{`{"name": "bad"`, ""},
		{`{"name": "bad", "testBed": "a", "queue": "a"}`, "queue"},
	} {
		c.post(t, c.Team, list, bad.body).refused(t, http.StatusBadRequest).names(t, bad.field)
	}
	c.get(t, c.Viewer, list+"/bad").refused(t, http.StatusNotFound)
	for _, name := range []string{"thesis-queue", "thesis-slots"} {
		gone := c.delete(t, c.Team, list+"/"+name).want(t, http.StatusOK)
		gone.wrongIf(t, gone.at("name") != name)
		until(t, func() bool { return c.get(t, c.Admin, c.in+"/schedulings/"+name).status == http.StatusNotFound })
	}
	none := c.delete(t, c.Team, list+"/thesis-queue").want(t, http.StatusNotModified)
	none.wrongIf(t, len(none.body) > 0)
}
