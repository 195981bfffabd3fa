package assay

import (
	"strings"
	"unicode"
)

// ShellWord is an argument as a person types it: a shell reads it as it is.
func ShellWord(arg string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("=._-/:,+@%", r)
	}
	if arg != "" && !strings.ContainsFunc(arg, func(r rune) bool { return !plain(r) }) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// ShellLine is a command line as a person types it.
func ShellLine(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = ShellWord(arg)
	}
	return strings.Join(words, " ")
}
