// Package children runs child processes of this same program, each in its own role, so that the
// resources of each can be measured, and leaves nothing behind.
//
//	func main() {
//		children.Init(map[string]children.Role{"server": serve}) // does not return in a child
//		group, err := children.NewGroup()
//		…
//		defer group.Close()
//		server, err := group.Start(children.Spec{Role: "server", CPUs: []int{1}})
//		address, err := server.Line(ctx) // of its standard output
//
// However the parent ends, its children end: [Group.Close] kills them, and so does the
// kernel when the parent dies (on Linux). Their directory, [Group.Dir], goes with the last
// of them: a keeper, which is a child too, but ends only after all others, removes it.
//
// Types that do not speak of concurrent use are plain values.
package children
