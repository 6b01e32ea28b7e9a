package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin/config"
)

// The versions of the arguments: that of files, and that of a scheduler.
var (
	versionV1       = schema.GroupVersion{Group: "kubescheduler.config.k8s.io", Version: "v1"}
	versionInternal = schema.GroupVersion{Group: "kubescheduler.config.k8s.io", Version: runtime.APIVersionInternal}
)

// codecs returns the codecs of a scheduler that registers both versions.
func codecs(t testing.TB) (*runtime.Scheme, serializer.CodecFactory) {
	scheme := runtime.NewScheme()
	if err := config.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme, serializer.NewCodecFactory(scheme, serializer.EnableStrict)
}

func decode(t testing.TB, data string) (runtime.Object, error) {
	_, c := codecs(t)
	kind := versionV1.WithKind(config.Kind)
	obj, _, err := c.UniversalDecoder(versionInternal).Decode([]byte(data), &kind, nil)
	return obj, err
}

func TestSchedulersSchemeDecodes(t *testing.T) {
	obj, err := decode(t, `{"listen":"127.0.0.1:0","maxAge":"2s","optOutToleration":"x"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := config.SpazioArgs{Listen: "127.0.0.1:0", MaxAge: metav1.Duration{Duration: 2 * time.Second}, OptOutToleration: "x"}.WithDefaults()
	if diff := cmp.Diff(&want, obj); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := decode(t, `{"lissen":"x"}`); err == nil || !strings.Contains(err.Error(), "lissen") {
		t.Errorf("unknown field: got error %v", err)
	}
}

// TestNestedArgsAreV1: an encoder of nested objects that has no version of its own writes v1.
func TestNestedArgsAreV1(t *testing.T) {
	scheme, c := codecs(t)
	info, _ := runtime.SerializerInfoForMediaType(c.SupportedMediaTypes(), runtime.ContentTypeJSON)
	for want, args := range map[string]runtime.Object{
		`{"kind":"SpazioArgs","apiVersion":"kubescheduler.config.k8s.io/v1","listen":"127.0.0.1:0"}`:  &config.SpazioArgs{Listen: "127.0.0.1:0"},
		`{"kind":"SpazioSlotsArgs","apiVersion":"kubescheduler.config.k8s.io/v1","swap":"Immediate"}`: &config.SpazioSlotsArgs{Swap: "Immediate"},
	} {
		text, err := runtime.Encode(runtime.WithVersionEncoder{Encoder: info.Serializer, ObjectTyper: scheme}, args)
		if got := strings.TrimSpace(string(text)); got != want || err != nil {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

// full returns args with a value in every field.
func full(t *testing.T) config.SpazioArgs {
	var a config.SpazioArgs
	v := reflect.ValueOf(&a).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case metav1.TypeMeta:
		case metav1.Duration:
			f.Set(reflect.ValueOf(metav1.Duration{Duration: time.Duration(i+1) * time.Second}))
		case *metav1.Duration:
			f.Set(reflect.ValueOf(&metav1.Duration{Duration: time.Duration(i+1) * time.Second}))
		case string:
			f.SetString(fmt.Sprint("value ", i))
		case bool:
			f.SetBool(true)
		case float64:
			f.SetFloat(float64(i) + .5)
		case int32:
			f.SetInt(int64(i + 1))
		default:
			t.Fatalf("%s has a kind that copies may share", v.Type().Field(i).Name)
		}
	}
	return a
}

func TestRoundTrip(t *testing.T) {
	a := full(t)
	scheme, c := codecs(t)
	internal, err := scheme.ConvertToVersion(&a, versionInternal)
	if err != nil {
		t.Fatal(err)
	}
	if internal == runtime.Object(&a) {
		t.Error("the converted object is its origin")
	}
	back, err := scheme.ConvertToVersion(internal, versionV1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := back.GetObjectKind().GroupVersionKind(), versionV1.WithKind(config.Kind); got != want {
		t.Errorf("converted to v1: got kind %v, want %v", got, want)
	}
	back.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	if diff := cmp.Diff(&a, back); diff != "" {
		t.Errorf("converted to internal and back (-want +got):\n%s", diff)
	}
	copied := a.DeepCopyObject().(*config.SpazioArgs)
	if diff := cmp.Diff(&a, copied); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	if copied.MaxWait.Duration++; *copied.MaxWait == *a.MaxWait {
		t.Error("a copy shares its origin's maxWait")
	}
	if (*config.SpazioArgs)(nil).DeepCopyObject() != nil {
		t.Error("got a non-nil copy of nil")
	}
	defaulted := a
	scheme.Default(&defaulted)
	if diff := cmp.Diff(a, defaulted); diff != "" {
		t.Errorf("defaults overwrote values (-want +got):\n%s", diff)
	}
	info, _ := runtime.SerializerInfoForMediaType(c.SupportedMediaTypes(), runtime.ContentTypeYAML)
	text, err := runtime.Encode(c.EncoderForVersion(info.Serializer, versionV1), internal)
	if err != nil {
		t.Fatal(err)
	}
	obj, err := decode(t, string(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if diff := cmp.Diff(internal, obj); diff != "" {
		t.Errorf("encoded and decoded (-want +got):\n%s", diff)
	}
}

// FuzzRoundTrip: a decoded value stays the same after it is converted, encoded and decoded again.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte(`{"listen":"127.0.0.1:0","maxAge":"2s","reportBurst":3}`))
	f.Add([]byte("capacityWeight: 0.25\ninsecure: true"))
	f.Add([]byte("maxWait: 0s"))
	f.Fuzz(func(t *testing.T, data []byte) {
		obj, err := decode(t, string(data))
		if err != nil {
			return
		}
		first := obj.(*config.SpazioArgs)
		text, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		second, err := decode(t, string(text))
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if diff := cmp.Diff(first, second, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}

// TestSlotsArgs: the arguments of SpazioSlots are decoded, defaulted, validated and copied.
func TestSlotsArgs(t *testing.T) {
	scheme, c := codecs(t)
	decode := func(text string) (runtime.Object, error) {
		kind := versionV1.WithKind(config.SlotsKind)
		obj, _, err := c.UniversalDecoder(versionInternal).Decode([]byte(text), &kind, nil)
		return obj, err
	}
	for text, want := range map[string]string{"{}": "Immediate", "swap: Graceful": "Graceful"} {
		obj, err := decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&config.SpazioSlotsArgs{Swap: want}, obj); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if err := obj.(*config.SpazioSlotsArgs).Validate(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		back, err := scheme.ConvertToVersion(obj, versionV1)
		if err != nil || back.(*config.SpazioSlotsArgs).Swap != want {
			t.Errorf("%s and back: %+v, %v", text, back, err)
		}
		for _, o := range []runtime.Object{obj, back} {
			if diff := cmp.Diff(o, o.DeepCopyObject()); diff != "" {
				t.Errorf("copy (-want +got):\n%s", diff)
			}
		}
	}
	if _, err := decode("swop: x"); err == nil || !strings.Contains(err.Error(), "swop") {
		t.Errorf("unknown field: got error %v", err)
	}
	if err := (config.SpazioSlotsArgs{}).Validate(); err != nil {
		t.Errorf("zero value: got error %v", err)
	}
	var name *field.Error
	if err := (config.SpazioSlotsArgs{Swap: "graceful"}).Validate(); !errors.As(err, &name) || name.Field != "swap" || !errors.Is(err, config.ErrInvalid) {
		t.Errorf("invalid value: got error %v", err)
	}
	if (*config.SpazioSlotsArgs)(nil).DeepCopyObject() != nil {
		t.Error("got a non-nil copy of nil")
	}
}
