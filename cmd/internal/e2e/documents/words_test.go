package documents

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// simple returns the simple commands of a shell text, each as its words: the text between newlines, ;,
// &, | and their doubles. Quotes and backslashes are removed; comments, assignments before a command
// and redirections are left out; variables stay as written. The command inside $() counts as well, and
// its position has a $.
func simple(text string) (commands [][]string) {
	var words []string
	var word strings.Builder
	inWord, skip := false, false // skip: the word is a redirection's target
	endWord := func() {
		if inWord && !skip {
			words = append(words, word.String())
		}
		if inWord {
			skip = false
		}
		word.Reset()
		inWord = false
	}
	endCommand := func() {
		endWord()
		for len(words) > 0 && isAssignment(words[0]) {
			words = words[1:]
		}
		if len(words) > 0 {
			commands = append(commands, words)
		}
		words, skip = nil, false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			if i++; text[i] != '\n' {
				word.WriteByte(text[i])
				inWord = true
			}
		case c == '$' && i+1 < len(text) && text[i+1] == '(' && strings.Contains(text[i:], ")"):
			end := i + strings.Index(text[i:], ")")
			commands = append(commands, simple(text[i+2:end])...)
			word.WriteByte(c)
			inWord, i = true, end
		case c == '\'' || c == '"':
			inWord = true
			for i++; i < len(text) && text[i] != c; i++ {
				word.WriteByte(text[i])
			}
		case c == '#' && !inWord:
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case strings.IndexByte("\n;&|", c) >= 0:
			endCommand()
		case c == '<' || c == '>':
			if strings.Trim(word.String(), "0123456789") == "" {
				word.Reset() // the number of a redirected descriptor
				inWord = false
			}
			endWord()
			for skip = true; i+1 < len(text) && (text[i+1] == c || text[i+1] == '&'); i++ {
			}
		case c == ' ' || c == '\t':
			endWord()
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	endCommand()
	return commands
}

func isAssignment(word string) bool {
	name, _, found := strings.Cut(word, "=")
	return found && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

func TestSimple(t *testing.T) {
	for text, want := range map[string][][]string{
		"":                                   nil,
		"# nothing":                          nil,
		"a b  c":                             {{"a", "b", "c"}},
		"a 'b c' \"d e\"f":                   {{"a", "b c", "d ef"}},
		"a \\\n  b":                          {{"a", "b"}},
		"a | b\nc && d; e & f":               {{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}},
		"GOWORK=off X_Y=1 go run . a=b # so": {{"go", "run", ".", "a=b"}},
		"a >out.txt 2>&1":                    {{"a"}},
		"echo 'a b' >> /etc/f\nmount":        {{"echo", "a b"}, {"mount"}},
		"T=$(a b -c)\nd \"$(e)\"":            {{"a", "b", "-c"}, {"d", "$(e)"}},
		"f --x $(e g) h":                     {{"e", "g"}, {"f", "--x", "$", "h"}},
		"a#b ''":                             {{"a#b", ""}},
	} {
		if diff := cmp.Diff(want, simple(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
