// Package service is a profiler to embed: the store of package profiler behind a gRPC
// UsageService that knows its callers, the controller that follows and writes the API's
// objects, metrics and health. The program spazio-profiler is flags around it.
//
//	s, err := service.New(ctx, service.Config{Listen: "127.0.0.1:9696"})
//	err = s.Run(ctx)
//
// New opens listeners and starts nothing; Run starts all and waits for its end. Of the
// process it touches nothing: no signals, no flags, no global registry. controller-runtime
// logs through its own logger, which is the embedding program's to set.
//
// Types that do not speak of concurrent use are plain values.
package service
