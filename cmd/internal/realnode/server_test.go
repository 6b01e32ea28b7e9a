//go:build realnode && linux

package realnode

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A server uses serviceTime of the CPU for each of requestRate requests a second, a fifth of a core.
const (
	serviceTime = 5 * time.Millisecond
	requestRate = 40
	idleTime    = 30 * time.Second
	serverPort  = "9000"
)

// responses are the response times in milliseconds, from when each request was due, and their number.
type responses struct {
	Count         int
	P50, P99, Max float64
}

// TestServer sends requests to two servers, one that requests its usage and one without requests, on
// the node alone and beside a batch, the first of the flag -kinds, under either scheduler.
func TestServer(t *testing.T) {
	install(t)
	servers := map[string]string{}
	for name, request := range map[string]string{"declared": "200m", "undeclared": ""} {
		servers[name] = serverPod(t, name, request)
	}
	all := map[string]map[string]responses{}
	during := func(what string, f func(ctx context.Context)) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var group sync.WaitGroup
		var mu sync.Mutex
		all[what] = map[string]responses{}
		for name, address := range servers {
			group.Go(func() {
				r, err := ask(ctx, address)
				if err != nil {
					t.Errorf("server %s: %v", name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				all[what][name] = r
			})
		}
		f(ctx)
		cancel()
		group.Wait()
	}
	quiet(t)
	during("alone", func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-time.After(idleTime):
		}
	})
	k := kinds[0]
	batches := map[string]batch{}
	for _, scheduler := range []string{defaults, spazio} {
		load := quiet(t) // the machine is not quiet while its servers get requests
		during(scheduler, func(context.Context) {
			batches[scheduler] = runBeside(t, load, "server-"+scheduler, scheduler, k.pods, fmt.Sprintf("-cpu=%ds", k.seconds))
		})
	}
	note(t, t.Name(), map[string]any{"responses": all, "batches": batches})
	for _, what := range []string{"alone", defaults, spazio} {
		for _, name := range []string{"declared", "undeclared"} {
			r, alone := all[what][name], all["alone"][name]
			t.Logf("%-17s %-10s p50 %7.1f ms, p99 %7.1f ms (%.2f of alone), most %7.1f ms, of %d", what, name, r.P50, r.P99, r.P99/alone.P99, r.Max, r.Count)
		}
		if b, ok := batches[what]; ok {
			t.Logf("%-17s makespan %.1f s, mean run %.1f s, %d at once", what, b.Makespan, b.Run, b.AtOnce)
		}
	}
}

// serverPod runs a server and returns its address once it answers.
func serverPod(t *testing.T, name, request string) (address string) {
	t.Helper()
	pod := worker("server-"+name, defaults, "-cpu="+serviceTime.String(), "-serve=:"+serverPort)
	if request != "" {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(request)}
	}
	create(t, pod)
	eventually(t, pod.Name+" answers", func(ctx context.Context) error {
		ip := get(t, pod.Name).Status.PodIP
		if ip == "" {
			return errors.New("no address")
		}
		address = net.JoinHostPort(ip, serverPort)
		return once(ctx, address)
	})
	return address
}

// once makes one request on a new connection.
func once(ctx context.Context, address string) error {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	return exchange(c)
}

func exchange(c net.Conn) error {
	if _, err := c.Write([]byte{1}); err != nil {
		return err
	}
	_, err := c.Read(make([]byte, 1))
	return err
}

// connections is the most concurrent requests of ask; later ones wait, and the wait counts.
const connections = 64

// ask makes requests at random times, whether or not earlier ones were answered, until the context
// ends, and waits for those in flight.
func ask(ctx context.Context, address string) (r responses, err error) {
	free := make(chan net.Conn, connections)
	defer func() {
		close(free)
		for c := range free {
			err = errors.Join(err, c.Close())
		}
	}()
	for range connections {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return r, err
		}
		free <- c
	}
	var mu sync.Mutex
	var times []float64
	var group sync.WaitGroup
	for due := time.Now(); ctx.Err() == nil; due = due.Add(time.Duration(rand.ExpFloat64() / requestRate * float64(time.Second))) {
		select {
		case <-ctx.Done():
			continue
		case <-time.After(time.Until(due)):
		}
		group.Go(func() {
			c := <-free
			defer func() { free <- c }()
			failed := exchange(c)
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Since(due).Seconds()*1e3)
			err = errors.Join(err, failed)
		})
	}
	group.Wait()
	return summarise(times), err
}

func summarise(times []float64) responses {
	if len(times) == 0 {
		return responses{}
	}
	slices.Sort(times)
	at := func(q float64) float64 { return times[int(q*float64(len(times)-1))] }
	return responses{len(times), at(.5), at(.99), times[len(times)-1]}
}
