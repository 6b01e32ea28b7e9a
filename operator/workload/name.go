package workload

import (
	"fmt"
	"hash/fnv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Bounds of a child's name. The Flink operator takes 45 characters; 40 of the job's
// leave room for a thousand runs.
const (
	maxName    = 45
	maxJobName = 40
	hashLen    = 8
)

// Name returns the name of a job's child: the job's name and -r with the number of the
// run. The operators make services of it, so it begins with a letter and has no dots; a
// name that is too long or not like that is cut and changed, and a hash of the whole
// follows.
func Name(job string, attempt int32) string {
	suffix := fmt.Sprintf("-r%d", attempt)
	most := min(maxJobName, maxName-len(suffix))
	if len(job) <= most && len(validation.IsDNS1035Label(job)) == 0 {
		return job + suffix
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(job)) // never fails
	return fmt.Sprintf("%s-%0*x%s", label(job, most-hashLen-1), hashLen, h.Sum32(), suffix)
}

// label makes of a text the beginning of a label, of at most so many characters.
func label(text string, most int) string {
	kept := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, text)
	if kept == "" || kept[0] < 'a' || kept[0] > 'z' {
		kept = "j" + kept
	}
	return strings.TrimRight(kept[:min(len(kept), most)], "-")
}
