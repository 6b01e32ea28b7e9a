// Package guests shares a machine's energy with the virtual machines that run on it, each
// second, as a part of any program: it calls a [share.Host], and shows what came of
// it.
//
//	sharing, err := guests.New(guests.Config{Host: share.HostConfig{…}, Registerer: registry})
//	err = sharing.Run(ctx)
//
// Types that do not speak of concurrent use are plain values.
package guests
