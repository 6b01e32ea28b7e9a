package authority

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Names of the objects and of what is in them; docs/security.md lists them.
const (
	authoritySecret = "spazio-ca"
	trustConfigMap  = "spazio-trust"
	leafSuffix      = "-tls"

	authorityKey = "ca"
	nextKey      = "next"
	sinceKey     = "next.since"
	formerKey    = "former.crt"
	trustKey     = "ca.crt"
)

// objects are the objects that hold the state, as they were read.
type objects struct {
	authority *corev1.Secret
	leaves    map[string]*corev1.Secret
	bundles   map[string]*corev1.ConfigMap // by namespace
}

func load(ctx context.Context, client corev1client.CoreV1Interface, c Config, wanted map[string]wantedLeaf) (o objects, err error) {
	secrets := client.Secrets(c.Namespace)
	if o.authority, err = secrets.Get(ctx, authoritySecret, metav1.GetOptions{}); err != nil {
		return o, fmt.Errorf("the authority: %w", err)
	}
	o.leaves, o.bundles = map[string]*corev1.Secret{}, map[string]*corev1.ConfigMap{}
	for name := range wanted {
		if o.leaves[name], err = secrets.Get(ctx, name+leafSuffix, metav1.GetOptions{}); err != nil {
			return o, fmt.Errorf("the certificate of %s: %w", name, err)
		}
	}
	for _, namespace := range c.places() {
		if o.bundles[namespace], err = client.ConfigMaps(namespace).Get(ctx, trustConfigMap, metav1.GetOptions{}); err != nil {
			return o, fmt.Errorf("the bundle in namespace %s: %w", namespace, err)
		}
	}
	return o, nil
}

// state reads the objects; a time that can't be read is zero.
func (o objects) state(c Config) state {
	s := state{
		Authority: pairOf(o.authority, authorityKey), Next: pairOf(o.authority, nextKey), Former: o.authority.Data[formerKey],
		Leaves: map[string]pair{}, Bundles: map[string][]byte{},
	}
	if since, err := time.Parse(time.RFC3339, string(o.authority.Data[sinceKey])); err == nil {
		s.Published = since
	}
	for name, secret := range o.leaves {
		s.Leaves[name] = pairOf(secret, "tls")
	}
	for _, namespace := range c.places() {
		s.Bundles[namespace] = []byte(o.bundles[namespace].Data[trustKey])
	}
	return s
}

func pairOf(s *corev1.Secret, key string) pair {
	return pair{Certificate: s.Data[key+".crt"], Key: s.Data[key+".key"]}
}

// store makes one change. What was changed since it was read is a conflict.
func (o objects) store(ctx context.Context, client corev1client.CoreV1Interface, change Change, planned state) error {
	if change.Kind == changeBundle {
		bundle := o.bundles[change.Name]
		if bundle.Data == nil {
			bundle.Data = map[string]string{}
		}
		bundle.Data[trustKey] = string(planned.Bundles[change.Name])
		if _, err := client.ConfigMaps(bundle.Namespace).Update(ctx, bundle, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("store the bundle in namespace %s: %w", change.Name, err)
		}
		return nil
	}
	secret := o.authority
	data := map[string][]byte{}
	if change.Kind == changeLeaf {
		secret = o.leaves[change.Name]
		put(data, "tls", planned.Leaves[change.Name])
	} else {
		put(data, authorityKey, planned.Authority)
		put(data, nextKey, planned.Next)
		if len(planned.Former) > 0 {
			data[formerKey] = planned.Former
		}
		if !planned.Published.IsZero() {
			data[sinceKey] = []byte(planned.Published.UTC().Format(time.RFC3339))
		}
	}
	secret.Data = data
	if _, err := client.Secrets(secret.Namespace).Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("store Secret %s: %w", secret.Name, err)
	}
	return nil
}

func put(data map[string][]byte, key string, p pair) {
	if len(p.Certificate)+len(p.Key) > 0 {
		data[key+".crt"], data[key+".key"] = p.Certificate, p.Key
	}
}
