package main

import (
	"errors"
	"flag"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcdName is the program that scheduler_perf starts.
const etcdName = "etcd"

// orphaned is how often etcd looks whether the run that started it has ended.
const orphaned = 200 * time.Millisecond

// serveEtcd is etcd, as far as scheduler_perf asks for it. It never syncs, for
// the disk is not what is measured.
func serveEtcd(args []string) error {
	config := embed.NewConfig()
	flags := flag.NewFlagSet(etcdName, flag.ContinueOnError)
	flags.StringVar(&config.Dir, "data-dir", "", "")
	flags.StringVar(&config.LogLevel, "log-level", "warn", "")
	flags.Int64Var(&config.QuotaBackendBytes, "quota-backend-bytes", 0, "")
	clients := flags.String("listen-client-urls", "", "")
	advertised := flags.String("advertise-client-urls", "", "")
	peers := flags.String("listen-peer-urls", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, u := range []struct {
		text string
		into *[]url.URL
	}{{*clients, &config.ListenClientUrls}, {*advertised, &config.AdvertiseClientUrls}, {*peers, &config.ListenPeerUrls}} {
		parsed, err := url.Parse(u.text)
		if err != nil {
			return err
		}
		*u.into = []url.URL{*parsed}
	}
	config.AdvertisePeerUrls = config.ListenPeerUrls
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.UnsafeNoFsync = true
	parent := os.Getppid()
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	ticker := time.NewTicker(orphaned)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return nil
		case err := <-server.Err():
			return errors.Join(errors.New("etcd ended"), err)
		case <-ticker.C:
			if os.Getppid() != parent {
				return nil
			}
		}
	}
}
