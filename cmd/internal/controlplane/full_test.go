package controlplane_test
import ("testing";"os"; "time"; "context"
	"github.com/spazio-scheduler/spazio/cmd/internal/controlplane"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"strings"
	"fmt"
)
func TestFull(t *testing.T) {
	_, err := controlplane.Start(t.Context(), controlplane.Config{Dir: "/tmp/tiny"})
	t.Log(err)
	l, _ := os.ReadDir("/tmp/tiny"); t.Log(l)
	c, err := controlplane.Start(t.Context(), controlplane.Config{Dir: "/tmp/mid"})
	t.Log(err)
	if err != nil { return }
	cl := kubernetes.NewForConfigOrDie(c.RESTConfig())
	for i := 0; ; i++ {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, err := cl.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("x",i)}, Data: map[string]string{"a": strings.Repeat("a", 900000)}}, metav1.CreateOptions{})
		cancel()
		if err != nil { t.Log(i, err); break }
	}
	select { case <-c.Failed(): t.Log("failed", c.Err()); case <-time.After(3*time.Second): t.Log("not failed") }
	t0 := time.Now()
	t.Log(c.Close(), time.Since(t0))
	l, _ = os.ReadDir("/tmp/mid"); t.Log(l)
}
