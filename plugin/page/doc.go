// Package page shows on the page of package web what a scheduler with the plugin knows: its
// nodes and why one of them is grey, the pods that wait and why, what has happened to a pod,
// and when pods were done under each profile.
//
//	shown, err := page.New(web.Config{Source: page.NewSource(hub, page.Options{})})
//	server, err := endpoint.NewDebug(ctx, endpoint.Config{Addr: "127.0.0.1:9694", Handlers: shown.Handlers()})
//	go shown.Run(ctx)
//
// A Source reads the plugin's Hub in this process. Beside the page a Page serves what its
// Source says as JSON, so that another program, of another version too, shows the same by
// [web.NewRelayClient].
//
// For a terminal the same is text and tables: [StatusTable], [VerdictTable], [StepTable],
// [EnergyTable] and [WorkloadTable]; a [Choice] selects the nodes.
//
// Types that do not speak of concurrent use are plain values.
package page
