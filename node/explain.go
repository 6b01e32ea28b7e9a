package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/kalman"
)

// Explain returns in words why w.Avail pods fit, or why none is taken.
func Explain(w agent.Why) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s", room(w))
	line("Report %d of incarnation %d, sampled %s, sent because %s.",
		w.Sequence, w.Incarnation, w.SampledAt.Format(time.RFC3339Nano), because(w.Trigger))
	if w.Pronto != nil {
		line("%s", prontoText(w))
		line("%s", churnText(w.Churn, w.ReportedAt))
		for _, c := range w.Channels {
			line("%s: sampled %.3f, filtered %.3f.", c.Name, c.Raw, c.Filtered)
		}
		if w.Power != nil {
			line("%s", powerText(w.Power))
		}
		if f := flagsText(w.Flags); f != "" {
			line("Doubts: %s.", f)
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	line("%s", bound(w))
	for _, c := range w.Channels {
		if c.Spread > 0 {
			line("Pods differ in %s: U(x) is the u of u·%.3f + √u·%.3f = x.", c.Name, c.CautiousCost, c.Spread)
		}
	}
	for _, d := range decisions(w) {
		line("%s", d)
	}
	line("%s", churnText(w.Churn, w.ReportedAt))
	if w.Measured != w.Pods {
		line("The filtered usage shows %d of the %d pods so far; the room is corrected by the rest.", w.Measured, w.Pods)
	}
	line("%s", modelText(w.Model, len(w.Channels)))
	line("%s", fleetText(w.Fleet))
	for _, c := range w.Channels {
		line("%s", channelText(c))
	}
	if w.Power != nil {
		line("%s", powerText(w.Power))
	}
	if f := flagsText(w.Flags); f != "" {
		line("Doubts: %s.", f)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// room returns what the node offers.
func room(w agent.Why) string {
	switch {
	case w.Pronto == nil:
		return fmt.Sprintf("%s has room for %.1f pods beyond the %d that run.", w.Node, w.Avail, w.Pods)
	case w.Pronto.Rejecting:
		return fmt.Sprintf("%s takes no pods beyond the %d that run.", w.Node, w.Pods)
	}
	return fmt.Sprintf("%s takes pods beyond the %d that run.", w.Node, w.Pods)
}

// prontoText returns what Pronto's signal was made of, and what raised the rejection.
func prontoText(w agent.Why) string {
	p := w.Pronto
	s := fmt.Sprintf("Pronto's signal decides: R = %.3f, it rejects at %.3f", p.R, p.Threshold)
	if p.Window > 0 {
		s += fmt.Sprintf(" and for %v after", p.Window)
	}
	s += ". "
	if len(p.Flags) == 0 {
		return s + "There are no directions yet; they take a block of samples."
	}
	whose := "the node's own"
	if p.Adopted {
		whose = "the fleet's"
	}
	s += fmt.Sprintf("Along %s directions, of σ = %.3f, the newest sample is at %.3f, flagged %v.", whose, p.Sigma, p.Projection, p.Flags)
	if last := p.Last; last != nil {
		s += fmt.Sprintf(" It was last raised %v ago, at R = %.3f, by direction %d of weights %s.",
			round(w.SampledAt.Sub(last.At)), last.R, last.Direction+1, weights(w.Channels, last.Vector))
	}
	return s
}

// weights names the parts of a direction.
func weights(channels []agent.WhyChannel, vector []float64) string {
	var parts []string
	for i, v := range vector {
		if i < len(channels) {
			parts = append(parts, fmt.Sprintf("%s %+.3f", channels[i].Name, v))
		}
	}
	return strings.Join(parts, ", ")
}

// powerText returns what the node takes, and what of that was not measured.
func powerText(p *agent.WhyPower) string {
	if p.Quality == energy.None.String() {
		return "Its power is not known."
	}
	s := fmt.Sprintf("It takes %.1f W (sd %.2f, %s) with %.2f of %g cores busy, %.1f W without load and %.1f W at full; a core more takes %.1f W.",
		p.Watts, p.SD, p.Quality, p.Busy, p.Cores, p.Idle, p.Max, p.Marginal)
	if p.Projected != 0 {
		s += fmt.Sprintf(" %+.1f W of that are of pods that its measurement, of %.1f pods, does not show.", p.Projected, p.PodsMeasured)
	}
	if p.Flags != "" {
		s += " Its doubts: " + p.Flags + "."
	}
	return s
}

func because(t agent.Trigger) string {
	switch t {
	case agent.OnFirst:
		return "it is the first"
	case agent.OnBlock:
		return "a block of samples was full"
	case agent.OnPods:
		return "the pods changed"
	}
	return "avail moved by a pod"
}

// bound names the channel and equation that decide, with their numbers.
func bound(w agent.Why) string {
	for _, c := range w.Channels {
		if c.Name != w.Limiting {
			continue
		}
		if c.Mode == "slots" {
			return fmt.Sprintf("%s decides, by its cores, of which each pod that does not idle takes about one: slots − n = %.1f − %d = %.2f (what is measured would say %.2f).",
				c.Name, c.Slots, w.Pods, c.Slots-float64(w.Pods), c.Signal)
		}
		if c.Mode == "model" {
			return fmt.Sprintf("%s decides, by what the model expects: %s = %.2f (the signal would say %.2f).", c.Name, byModel(c, w.Pods), c.Model, c.Signal)
		}
		return fmt.Sprintf("%s decides, by what is measured: %s = %.2f (the model would say %.2f).", c.Name, bySignal(c, w.Measured, w.Pods), c.Signal, c.Model)
	}
	return "No channel decides."
}

// bySignal and byModel write the formula that bounds a channel, and its numbers.
func bySignal(c agent.WhyChannel, n0, n int) string {
	symbol, value := lessReserve("h", c.Headroom, c.Reserve)
	if c.Spread > 0 {
		return fmt.Sprintf("U(%s) + n₀ − n = U(%s) + %d − %d", symbol, value, n0, n)
	}
	return fmt.Sprintf("%s/c⁺ + n₀ − n = %s/%.3f + %d − %d", symbol, value, c.CautiousCost, n0, n)
}

func byModel(c agent.WhyChannel, n int) string {
	symbol, value := lessReserve("C", c.Pooled.Capacity, c.Reserve)
	if c.Spread > 0 && c.Model > 0 {
		return fmt.Sprintf("U(%s − c⁺·n) = U(%s − %.3f·%d)", symbol, value, c.CautiousCost, n)
	}
	return fmt.Sprintf("%s/c⁺ − n = %s/%.3f − %d", symbol, value, c.CautiousCost, n)
}

// lessReserve is a room less the reserve, as a formula and in numbers.
func lessReserve(symbol string, value, reserve float64) (formula, number string) {
	if reserve > 0 {
		return "(" + symbol + " − reserve)", fmt.Sprintf("(%.3f − %.3f)", value, reserve)
	}
	return symbol, fmt.Sprintf("%.3f", value)
}

// decisions are the corrections to the bound that were made.
func decisions(w agent.Why) (d []string) {
	if w.Saturated {
		d = append(d, "A channel is full, so nothing is offered whatever the estimate says.")
	}
	if w.Floored {
		d = append(d, "Every channel is light, so one pod is offered whatever the estimate says.")
	}
	return append(d, paceText(w.Pace, w.Allowance))
}

// paceText returns the start-up allowance, and why it is that.
func paceText(p agent.WhyPace, allowance float64) string {
	s := "How long pods run is not known yet"
	if p.Run > 0 {
		s = fmt.Sprintf("Pods run for %.1f s (of %.0f that ended) and take %.1f s to start", p.Run, p.Ends, p.Startup)
	}
	switch {
	case allowance > 0:
		s += fmt.Sprintf(", so %.1f more are offered ahead of a free slot (of %.1f slots)", allowance, p.Slots)
	case p.Off:
		s += "; by configuration none is offered ahead of a free slot"
	default:
		s += ", so none is offered ahead of a free slot"
	}
	if p.ShortLived && !p.Off {
		s += "; they end before others start, so a full CPU does not prevent that"
	}
	if p.TypicalCPU > 0 {
		s += fmt.Sprintf("; they take about %.2f cores each, so those count as typical pods, whatever is known of them", p.TypicalCPU)
	}
	return s + "."
}

func churnText(c agent.WhyChurn, at time.Time) string {
	switch {
	case c.First.IsZero():
		return "No container has started or stopped yet."
	case c.Open && at.Sub(c.First) < 10*time.Millisecond:
		return "A container is just starting or stopping, so the estimator stands still."
	case c.Open:
		return fmt.Sprintf("Containers have been starting or stopping for %v, so the estimator stands still.", round(at.Sub(c.First)))
	}
	return fmt.Sprintf("The last container started or stopped %v ago.", round(at.Sub(c.Last)))
}

func modelText(m agent.WhyModel, channels int) string {
	if len(m.Direction) != channels {
		return "There is no model of the load yet; it takes a block of samples."
	}
	end := "until " + m.Limiting + " is full"
	if m.Limiting == "" {
		end = "with no channel in the way"
	}
	return fmt.Sprintf("k = %.2f typical loads fit %s; σ₁ = %.3f along u₁ = %.3f, after %d block(s) of mass %.2f.",
		m.K, end, m.Sigma, m.Direction, m.Blocks, m.Mass)
}

func fleetText(f agent.WhyFleet) string {
	switch {
	case !f.Known:
		return "No model of the fleet has come: the node uses its own."
	case f.Share == 0:
		return fmt.Sprintf("The fleet's model came %v ago; its load does not count here.", round(f.Age))
	}
	return fmt.Sprintf("The fleet's model came %v ago; its load, of mass %.1f, counts for γ = %.2f of the model.", round(f.Age), f.Mass, f.Share)
}

func channelText(c agent.WhyChannel) string {
	s := fmt.Sprintf("%s: sampled %.3f, filtered %.3f, so %.3f is free; a typical load takes %.3f. ",
		c.Name, c.Raw, c.Filtered, c.Headroom, c.Demand)
	s += fmt.Sprintf("C = %.3f, c = %s", min(c.Pooled.Capacity, 1), costText(c.Pooled))
	if c.FleetCost > 0 {
		s += fmt.Sprintf(" (its own %s, the fleet's %.3f ± %.3f)", costText(c.Own), c.FleetCost, c.FleetSD)
	}
	s += fmt.Sprintf("; room %.2f by signal, %.2f by model.", c.Signal, c.Model)
	if c.Verdict == "" {
		return s
	}
	if c.InnovationSD > 0 {
		return s + fmt.Sprintf(" The last block left %+.3f against what the estimator expected, ± %.3f: %s.", c.Innovation, c.InnovationSD, c.Verdict)
	}
	if c.Verdict == kalman.Taken.String() {
		return s + " The last block was the estimator's first."
	}
	return s + fmt.Sprintf(" The estimator did not use the last block: %s.", c.Verdict)
}

func costText(e agent.WhyEstimate) string {
	switch {
	case e.Known:
		return fmt.Sprintf("%.3f ± %.3f", e.Cost, e.CostSD)
	case e.CostSD > 0:
		return fmt.Sprintf("%.3f ± %.3f, not the node's own", e.Cost, e.CostSD)
	}
	return fmt.Sprintf("%.3f, assumed", e.Cost)
}

func flagsText(f agent.Flags) string {
	var on []string
	for _, flag := range []struct {
		set  bool
		text string
	}{
		{f.Churn, "containers churn"}, {f.CostUnknown, "the cost of a pod is not known"},
		{f.NoPressure, "the kernel has no pressure information, which the agent is set to use"}, {f.WarmingUp, "the first block is not full"},
	} {
		if flag.set {
			on = append(on, flag.text)
		}
	}
	return strings.Join(on, ", ")
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

// Handler serves the reasons of the newest report ([Agent.Why]) as JSON, or in
// words ([Explain]) with ?format=text. Before the first report the status is 404,
// after the agent's end 503. It does not authenticate: every client that can connect
// reads the node's load and its pods' number.
func (a *Agent) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := r.FormValue("format")
		if format != "" && format != "json" && format != "text" {
			http.Error(w, fmt.Sprintf("format: %q is neither json nor text", format), http.StatusBadRequest)
			return
		}
		why, err := a.Why(r.Context())
		switch {
		case errors.Is(err, ErrNoReport):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		case format == "text":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprintln(w, Explain(why))
		default:
			text, err := json.MarshalIndent(why, "", "  ")
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, "%s\n", text)
		}
	})
}
