// Package room has what each node has room for, as the scheduler knows it. The controllers need
// it for Testbeds whose nodes get as many slots as fit (slotsPerNode: auto).
//
// [Watch] keeps a stream to the RoomService of a scheduler and comes again when it
// breaks. A [Reading] is the newest of a node; where the scheduler is silent, or the
// node's agent is, it is not Fresh, and nothing should be decided on it.
//
//	rooms, err := room.Watch(ctx, room.Config{Target: "127.0.0.1:9690"})
//	reading, known := rooms.Room("worker-1") // whenever rooms.Changed() has a token
//	rooms.Wait()                             // once ctx has ended
//
// Types that do not speak of concurrent use are plain values.
package room
