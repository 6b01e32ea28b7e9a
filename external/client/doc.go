// Package client is a client of the interface /external/v1 for outside programs, which decide
// which jobs run in which slots, and follow what becomes of them.
//
// [New] makes a [Client] without asking anything. A program looks around with
// [Client.Slots] and [Client.Jobs], tries a decision with [Client.Plan], makes it with
// [Client.CreateScheduling], follows it with [Client.Watch] and ends it with
// [Client.DeleteScheduling]; what it wants to remember of a job it keeps in the job, with
// [Client.SetExternal] or [Client.PatchExternal]. Package external/profiler, and
// examples/profiler in the repository, are such programs.
//
// A refusal by the server is a *wire.Problem, which errors.As finds. Requests that are safe to
// repeat are repeated when the server or the connection fails for a moment: reading, and
// replacing at a version (for which 412 may then mean that the first attempt was carried
// out). Objects are named NAMESPACE and NAME as in the paths; a reference to another object is
// NAMESPACE/NAME.
//
// Types that do not speak of concurrent use are plain values.
package client
