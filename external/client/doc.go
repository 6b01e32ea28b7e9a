// Package client speaks the interface /external/v1 from an outside program: it says which
// jobs run in which slots, and hears what becomes of them.
//
// [New] makes a [Client] without asking anything. A program looks around with
// [Client.Slots] and [Client.Jobs], tries a decision with [Client.Plan], makes it with
// [Client.CreateScheduling], follows it with [Client.Watch] and ends it with
// [Client.DeleteScheduling]; what it wants to remember of a job it keeps in the job, with
// [Client.SetExternal] or [Client.PatchExternal]. Package external/profiler, and
// examples/profiler in the repository, are such programs.
//
// What the server refuses is a *wire.Problem, which errors.As finds. What is safe to ask
// again is asked again when the server or the way to it fails for a moment: reading, and
// replacing at a version (of which 412 may then mean that the first attempt was carried
// out). Objects are named NAMESPACE and NAME as in the paths; where one names another,
// NAMESPACE/NAME.
//
// Types that do not speak of concurrent use are plain values.
package client
