package backend

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
)

func at(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

func invalid(causes ...wire.Cause) *wire.Problem {
	return server.Refuse(http.StatusUnprocessableEntity, "The object cannot be as it is.", causes...)
}

// noSuch is the problem that there is no object of the kind.
func noSuch(what, namespace, name string) *wire.Problem {
	return server.Refuse(http.StatusNotFound, fmt.Sprintf("There is no %s %s/%s.", what, namespace, name))
}

// outdated is the problem that the object has changed since the version that was given.
func outdated(what string) *wire.Problem {
	return server.Refuse(http.StatusPreconditionFailed, fmt.Sprintf("The %s has changed since it was read.", what))
}

// problemOf is the API server's answer to a write of an object, in the words of the interface.
// versioned reports whether the write was for one version alone.
func problemOf(err error, what, namespace, name string, versioned bool) error {
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) {
		return err
	}
	wait, _ := apierrors.SuggestsClientDelay(err)
	switch said := status.Status(); {
	case apierrors.IsNotFound(err) && said.Details != nil && said.Details.Kind == "namespaces":
		return server.Refuse(http.StatusNotFound, fmt.Sprintf("There is no namespace %s.", namespace))
	case apierrors.IsNotFound(err):
		return noSuch(what, namespace, name)
	case apierrors.IsAlreadyExists(err):
		return server.Refuse(http.StatusConflict, fmt.Sprintf("There is another %s %s/%s.", what, namespace, name))
	case apierrors.IsConflict(err) && versioned:
		return outdated(what)
	case apierrors.IsConflict(err):
		return server.RefuseForNow(http.StatusConflict, 1, fmt.Sprintf("The %s %s/%s is being changed by others.", what, namespace, name))
	case apierrors.IsInvalid(err):
		return invalid(causesOf(&said)...)
	case apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		// A quota or an admission policy: our own rights are the installation's.
		return server.Refuse(int(said.Code), wireText(said.Message))
	case apierrors.IsRequestEntityTooLargeError(err):
		return server.Refuse(http.StatusRequestEntityTooLarge, "The object is too large to be stored.")
	case apierrors.IsTooManyRequests(err):
		return server.RefuseForNow(http.StatusServiceUnavailable, max(1, wait), "The API server has too much to do.")
	case apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsServiceUnavailable(err):
		return server.RefuseForNow(http.StatusServiceUnavailable, max(1, wait), "The API server is away.")
	}
	return err
}

// causesOf are what the API server finds wrong with an object, by the fields of the JSON
// that was sent.
func causesOf(status *metav1.Status) []wire.Cause {
	if status.Details == nil || len(status.Details.Causes) == 0 {
		return []wire.Cause{{Message: wireText(status.Message)}}
	}
	var causes []wire.Cause
	for _, c := range status.Details.Causes[:min(len(status.Details.Causes), wire.MaxCauses)] {
		causes = append(causes, wire.Cause{Field: wireText(c.Field), Reason: reasonOf(c.Type), Message: wireText(c.Message)})
	}
	return causes
}

// reasonOf is the interface's word for what is wrong with a field.
func reasonOf(c metav1.CauseType) string {
	switch c {
	case metav1.CauseTypeFieldValueRequired:
		return wire.Required
	case metav1.CauseTypeFieldValueDuplicate:
		return wire.Duplicate
	case metav1.CauseTypeFieldValueNotSupported:
		return wire.Unsupported
	case metav1.CauseTypeTooMany, metav1.CauseTypeTooLong:
		return wire.TooMany
	}
	return wire.Invalid
}
