// Package lifecycle has the states of a job and of a scheduling, and what is done in
// each. A controller observes, calls [StepJob] or [StepScheduling], carries out the
// actions and stores the state:
//
//	Step(observed, now)  →  state, actions
//
// What is stored is part of what is observed. A step goes as far as what is observed
// allows, so states may be skipped: a controller that was away for a while finds the
// application ended. The actions follow from the state reached and what is observed alone, never
// from how it was reached, so that one which was lost is asked for again, and one which
// is asked for twice does nothing more: a step on what a step has returned changes
// nothing and asks for the same.
//
//	Ready       available to schedulings
//	InQueue     a scheduling has it; it waits for slots
//	Submitted   its application is to be there
//	Scheduled   all its pods are bound
//	Running     the application runs, and all its pods
//	Completed   the application has succeeded   } its slots are free once its pods are
//	Failed      it has failed for good          } gone; the scheduling still has it
//	Releasing   the scheduling does not have it any more; what is there goes
//
//	Acquiring           it wants jobs that others have, or that do not exist; what it has goes on
//	Confirming          those that it submitted are to get their pods bound first
//	Submitting          its jobs take slots as they become free
//	AwaitingCompletion  all are submitted
//	Completed           all that it has have ended; one that is added may still be had, and is submitted
//	Failed              one has failed, and nothing more is submitted
//	Releasing, Released it goes, and its jobs become Ready; it may be gone
//
// The states are those of L. Schwerdtfeger's thesis (see package testbed; §4.3.1,
// §4.3.4) and Releasing.
//
// Types that do not speak of concurrent use are plain values.
package lifecycle
