package source

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
)

// RedfishConfig describes where a management controller shows the machine's power.
type RedfishConfig struct {
	// URL is that of a Power resource, such as
	// https://bmc/redfish/v1/Chassis/1/Power. It has to be https.
	URL string
	// TokenFile holds the token of a session; "" asks without. It is read at each
	// request, so that it can be replaced.
	TokenFile string
	// TLS has the authorities to trust; nil means the system's authorities.
	TLS *tls.Config
}

// validate returns a *field.Error for the first field that is out of range.
func (c RedfishConfig) validate() error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return invalid("URL", c.URL, "an https URL")
	}
	return nil
}

// redfishPeriod is how often a controller is asked.
const redfishPeriod = 5 * time.Second

// redfishTimeout ends a request.
const redfishTimeout = 4 * time.Second

// maxRedfish bounds an answer.
const maxRedfish = 1 << 20

// redfish shows what a management controller has answered lately. A goroutine asks, which
// Close ends and waits for, so that a reading never waits for the network.
type redfish struct {
	about
	config RedfishConfig
	client *http.Client
	end    context.CancelFunc
	ended  chan struct{}

	mu     sync.Mutex
	answer redfishAnswer

	shownAt time.Time // by ReadTo
}

type redfishAnswer struct {
	watts float64
	at    time.Time
	err   error
}

// newRedfish begins to ask, until ctx ends or Close. The error is a *field.Error; that the
// controller does not answer is for ReadTo to say.
func newRedfish(ctx context.Context, c RedfishConfig) (*redfish, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	r := &redfish{
		about:  about{"redfish", energy.Platform, redfishPeriod},
		config: c, end: end, ended: make(chan struct{}),
		client: &http.Client{
			Timeout:       redfishTimeout,
			Transport:     &http.Transport{TLSClientConfig: c.TLS, DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		answer: redfishAnswer{err: ErrUnchanged},
	}
	go r.run(ctx)
	return r, nil
}

func (r *redfish) run(ctx context.Context) {
	defer close(r.ended)
	tick := time.NewTicker(redfishPeriod)
	defer tick.Stop()
	for {
		watts, err := r.ask(ctx)
		r.mu.Lock()
		r.answer = redfishAnswer{watts, time.Now(), err}
		r.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ask is one request.
func (r *redfish) ask(ctx context.Context) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.config.URL, nil)
	if err != nil {
		return 0, fmt.Errorf("source: redfish: %w", err)
	}
	if r.config.TokenFile != "" {
		token, err := os.ReadFile(r.config.TokenFile)
		if err != nil {
			return 0, fmt.Errorf("source: redfish: %w", err)
		}
		request.Header.Set("X-Auth-Token", strings.TrimSpace(string(token)))
	}
	response, err := r.client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("source: redfish: %w", err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusMovedPermanently, http.StatusPermanentRedirect, http.StatusFound, http.StatusTemporaryRedirect:
		return 0, &field.Error{Package: "source", Field: "redfish status", Value: response.Status, Err: fmt.Errorf("%w: the controller refers to %q, which is to be given as the URL", ErrNoPower, response.Header.Get("Location"))}
	case http.StatusUnauthorized, http.StatusForbidden:
		return 0, &field.Error{Package: "source", Field: "redfish status", Value: response.Status, Err: fmt.Errorf("%w: the token is refused", ErrNoPower)}
	default:
		return 0, &field.Error{Package: "source", Field: "redfish status", Value: response.Status, Err: ErrNoPower}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRedfish+1))
	if err != nil {
		return 0, fmt.Errorf("source: redfish: %w", err)
	}
	return parseRedfish(body)
}

// powerControl is an entry of PowerControl in a Power resource.
type powerControl struct {
	Name, PhysicalContext string
	PowerConsumedWatts    json.RawMessage
	Status                struct{ State string }
}

// watts is what an entry shows, if it does; some controllers write the number as a text.
func (c powerControl) watts() (watts float64, known bool, err error) {
	text := strings.TrimSpace(strings.Trim(string(c.PowerConsumedWatts), `"`))
	if text == "" || text == "null" {
		return 0, false, nil
	}
	watts, err = strconv.ParseFloat(text, 64)
	if err != nil || !(watts >= 0 && watts <= energy.MaxWatts) {
		return 0, false, &field.Error{Package: "source", Field: "PowerConsumedWatts", Value: text, Err: errMalformed}
	}
	return watts, true, nil
}

// width is how much of the machine an entry covers: by its context, of none by its name.
func (c powerControl) width() width {
	switch context := c.PhysicalContext; {
	case context == "":
		return widthOf(c.Name)
	case context == "Chassis", context == "PowerSubsystem", strings.HasSuffix(context, "Input"): // as ACInput
		return whole
	case strings.HasPrefix(context, "PowerSupply"): // PowerSupplyBay, too
		return supply
	case context == "SystemBoard":
		return board
	}
	return part
}

// parseRedfish returns the watts that a Power resource shows in the entries of PowerControl of
// the widest context: the chassis contains the processors' and memory's. Several of the whole
// chassis show the same total, of which the largest is taken; others are summed. Where one of
// those that are summed shows nothing, as a supply whose reading is null, the sum is unknown:
// the error wraps ErrNoPower and names it. One that is Absent takes nothing.
func parseRedfish(body []byte) (float64, error) {
	if len(body) > maxRedfish {
		return 0, &field.Error{Package: "source", Field: "redfish answer", Value: len(body), Err: errMalformed}
	}
	var power struct{ PowerControl []powerControl }
	var name *json.UnmarshalTypeError // of which the rest is decoded
	if err := json.Unmarshal(body, &power); err != nil && !errors.As(err, &name) {
		return 0, fmt.Errorf("source: redfish: %w: %w", errMalformed, err)
	}
	top := width(0)
	for _, c := range power.PowerControl {
		top = max(top, c.width())
	}
	watts, known := 0.0, false
	var refused error
	for _, c := range power.PowerControl {
		if c.width() != top || contained(c, power.PowerControl) {
			continue
		}
		switch w, ok, err := c.watts(); {
		case err != nil:
			refused = err
		case !ok && (top.once() || c.Status.State == "Absent" || containsKnown(c, power.PowerControl)):
		case !ok:
			refused = &field.Error{Package: "source", Field: "PowerConsumedWatts", Value: string(c.PowerConsumedWatts), Err: fmt.Errorf("%w: %q shows none, and the others are no sum without it", ErrNoPower, cmp.Or(c.Name, c.PhysicalContext))}
		case known && top.once() && max(watts, w) > energy.MaxMachineWatts: // a word for unknown
			watts = min(watts, w)
		case top.once():
			watts, known = max(watts, w), true
		default:
			watts, known = watts+w, true
		}
	}
	switch {
	case refused != nil && (!known || !top.once()):
		return 0, refused
	case !known:
		return 0, &field.Error{Package: "source", Field: "PowerControl", Value: len(power.PowerControl), Err: fmt.Errorf("%w: no PowerConsumedWatts of the widest PhysicalContext", ErrNoPower)}
	}
	return watts, nil
}

// contained reports whether one of the entries shows what contains c, as that of the
// CPUSubsystem each CPU, and a supply's input its output.
func contained(c powerControl, in []powerControl) bool {
	return slices.ContainsFunc(in, func(other powerControl) bool {
		if _, known, _ := other.watts(); !known {
			return false
		}
		behind := c.width() == supply && other.width() == supply && isOutput(c.Name) && !isOutput(other.Name)
		return behind || c.isPartOf(other)
	})
}

// containsKnown reports whether one of the entries shows a part of what c measures.
func containsKnown(c powerControl, in []powerControl) bool {
	return slices.ContainsFunc(in, func(part powerControl) bool {
		_, known, _ := part.watts()
		return known && part.isPartOf(c)
	})
}

// isPartOf reports whether other is of all that c is one of, as CPUSubsystem of CPU.
func (c powerControl) isPartOf(other powerControl) bool {
	return c.PhysicalContext != "" && other.PhysicalContext == c.PhysicalContext+"Subsystem"
}

// Close implements Source. It waits for a request that is under way.
func (r *redfish) Close() error {
	r.end()
	<-r.ended
	return nil
}

// ReadTo implements Source. The zone, "platform", is a gauge with the time of its answer.
func (r *redfish) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	dst = dst[:0]
	r.mu.Lock()
	answer := r.answer
	r.mu.Unlock()
	switch {
	case answer.err != nil:
		return dst, answer.err
	case answer.at.Equal(r.shownAt) && at.Sub(answer.at) > 3*redfishPeriod:
		return dst, errStale
	case answer.at.Equal(r.shownAt):
		return dst, ErrUnchanged
	}
	r.shownAt = answer.at
	return append(dst, energy.Reading{Zone: "platform", Gauge: true, Watts: answer.watts, MaxWatts: energy.MaxMachineWatts, At: answer.at}), nil
}
