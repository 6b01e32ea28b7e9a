package api_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/field"
)

var update = flag.Bool("update", false, "rewrite testdata/wire.txt, which only a release does")

const wireFile = "testdata/wire.txt"

// TestWireOnlyGrows: each released element keeps its number, name, type and presence, so that versions
// with fewer or more elements understand each other.
func TestWireOnlyGrows(t *testing.T) {
	now := wireLines()
	if *update {
		text := "# What spazio.v1 could say at the last release, a line each: none may go or change.\n" + strings.Join(now, "\n") + "\n"
		if err := os.WriteFile(wireFile, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(wireFile)
	if err != nil {
		t.Fatal(err)
	}
	released := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		released++
		if !slices.Contains(now, line) {
			t.Errorf("missing or changed: %s", line)
		}
	}
	if released < 100 {
		t.Errorf("%s has %d lines", wireFile, released)
	}
}

// wireLines describes the wire format, one line for each element that a peer relies on.
func wireLines() []string {
	var lines []string
	eachFile(func(f protoreflect.FileDescriptor) {
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				lines = append(lines, methodLine(methods.Get(j)))
			}
		}
		lines = append(lines, enumLines(f.Enums())...)
	})
	eachMessage(func(m protoreflect.MessageDescriptor) {
		lines = append(lines, fmt.Sprintf("message %s", m.FullName()))
		for i := range m.Fields().Len() {
			lines = append(lines, fieldLine(m.Fields().Get(i)))
		}
		lines = append(lines, enumLines(m.Enums())...)
	})
	slices.Sort(lines)
	return lines
}

func enumLines(enums protoreflect.EnumDescriptors) []string {
	var lines []string
	for i := range enums.Len() {
		values := enums.Get(i).Values()
		for j := range values.Len() {
			lines = append(lines, fmt.Sprintf("enum %s %d %s", enums.Get(i).FullName(), values.Get(j).Number(), values.Get(j).Name()))
		}
	}
	return lines
}

func methodLine(m protoreflect.MethodDescriptor) string {
	stream := map[bool]string{true: "stream "}
	return fmt.Sprintf("method %s(%s%s) %s%s", m.FullName(),
		stream[m.IsStreamingClient()], m.Input().FullName(), stream[m.IsStreamingServer()], m.Output().FullName())
}

func fieldLine(f protoreflect.FieldDescriptor) string {
	kind := f.Kind().String()
	switch {
	case f.Message() != nil:
		kind = string(f.Message().FullName())
	case f.Enum() != nil:
		kind = string(f.Enum().FullName())
	}
	line := fmt.Sprintf("field %s %d %s %s %s", f.Parent().FullName(), f.Number(), f.Name(), f.Cardinality(), kind)
	switch one := f.ContainingOneof(); {
	case one != nil && !one.IsSynthetic():
		line += " in " + string(one.Name())
	case f.HasPresence() && f.Message() == nil:
		line += " with presence"
	}
	return line
}

// absences returns the meaning of each absent field from the end of its comment in the .proto files.
func absences(t *testing.T) map[protoreflect.FullName]string {
	t.Helper()
	files, err := filepath.Glob("spazio/v1/*.proto")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var (
		message = regexp.MustCompile(`^message (\w+) \{`)
		field   = regexp.MustCompile(`^ +(?:repeated |optional )?[\w.]+ (\w+) = \d+;`)
		comment = regexp.MustCompile(`^ +// ?(.*)`)
	)
	absence := map[protoreflect.FullName]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		in, about := "", ""
		for line := range strings.Lines(string(text)) {
			if m := message.FindStringSubmatch(line); m != nil {
				in = m[1]
			}
			if c := comment.FindStringSubmatch(line); c != nil {
				about += c[1] + " "
				continue
			}
			if f := field.FindStringSubmatch(line); f != nil {
				_, absent, _ := strings.Cut(about, "Absent: ")
				absence[protoreflect.FullName("spazio.v1."+in+"."+f[1])] = strings.TrimSpace(absent)
			}
			about = ""
		}
	}
	return absence
}

// TestFieldsSayWhatAbsenceMeans: a peer of another version may omit a field, so its comment must define
// the absence.
func TestFieldsSayWhatAbsenceMeans(t *testing.T) {
	absence := absences(t)
	eachMessage(func(m protoreflect.MessageDescriptor) {
		for i := range m.Fields().Len() {
			if f := m.Fields().Get(i); absence[f.FullName()] == "" {
				t.Errorf("the comment of %s does not say what its absence means (Absent: …)", f.FullName())
			}
		}
	})
}

// TestAbsence: a message is accepted with only those fields whose absence is documented as refused, and
// refused without any one of them.
func TestAbsence(t *testing.T) {
	absence := absences(t)
	tried := map[protoreflect.FullName]bool{}
	for _, g := range goldens(t) {
		least := g.decode(t)
		if report, is := least.(*spaziov1.Report); is && api.IsHeartbeat(report) {
			continue
		}
		spare(least.ProtoReflect(), absence)
		if err := accept(least); err != nil {
			t.Errorf("%s, without optional fields: got %v", g.file, err)
		}
		eachRefused(least.ProtoReflect(), absence, func(m protoreflect.Message, f protoreflect.FieldDescriptor) {
			value := m.Get(f)
			m.Clear(f)
			// Package svd, which checks the models, writes "len(U) = 0" for u.
			names := regexp.MustCompile(`(?i)[ .(]` + string(f.Name()) + `\)? = `)
			var refused *field.Error
			if err := accept(least); !errors.As(err, &refused) || !names.MatchString(err.Error()) {
				t.Errorf("%s without %s: %v", g.file, f.FullName(), err)
			}
			m.Set(f, value)
			tried[f.FullName()] = true
		})
	}
	for name, absent := range absence {
		if strings.HasPrefix(absent, "refused") && !tried[name] {
			t.Errorf("the absence of %s was not tested", name)
		}
	}
}

// spare clears the fields whose absence is not refused, recursively in messages.
func spare(m protoreflect.Message, absence map[protoreflect.FullName]string) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		one := f.ContainingOneof()
		if f.Message() == nil && (one == nil || one.IsSynthetic()) && !strings.HasPrefix(absence[f.FullName()], "refused") {
			m.Clear(f)
		}
		eachPart(f, v, func(part protoreflect.Message) { spare(part, absence) })
		return true
	})
}

func eachRefused(m protoreflect.Message, absence map[protoreflect.FullName]string, do func(protoreflect.Message, protoreflect.FieldDescriptor)) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !m.Has(f) {
			continue
		}
		eachPart(f, m.Get(f), func(part protoreflect.Message) { eachRefused(part, absence, do) })
		if strings.HasPrefix(absence[f.FullName()], "refused") {
			do(m, f)
		}
	}
}
