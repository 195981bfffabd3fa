package tokens

import (
	"unicode"
	"unicode/utf8"
)

// The patterns by which OpenAI's tokenizers split a text before they merge bytes, as tiktoken publishes
// them (tiktoken_ext/openai_public.py). A line each, first match wins:
//
//	o200k_base                                          cl100k_base
//	[^\r\n\p{L}\p{N}]?UPPER*LOWER+ENDING?               ENDING
//	[^\r\n\p{L}\p{N}]?UPPER+LOWER*ENDING?               [^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}                                          \p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*                           ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+                                          \s*[\r\n]+
//	\s+(?!\S)                                           \s+(?!\S)
//	\s+                                                 \s+
//
// UPPER is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], LOWER [\p{Ll}\p{Lm}\p{Lo}\p{M}], ENDING (?i:'s|'t|'re|'ve|'m|'ll|'d).

// class is what the patterns ask of a rune.
type class uint8

const (
	upper   class = 1 << iota // UPPER
	lower                     // LOWER
	letter                    // \p{L}
	number                    // \p{N}
	space                     // \s
	lineEnd                   // [\r\n]
)

var ascii = func() (table [utf8.RuneSelf]class) {
	for r := range table {
		table[r] = classify(rune(r))
	}
	return table
}()

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		return ascii[r]
	case 0x4e00 <= r && r <= 0x9fff: // most of what is Chinese
		return upper | lower | letter
	}
	return classify(r)
}

func classify(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return space | lineEnd
	case unicode.IsSpace(r):
		return space
	case unicode.Is(unicode.Lu, r), unicode.Is(unicode.Lt, r):
		return upper | letter
	case unicode.Is(unicode.Ll, r):
		return lower | letter
	case unicode.IsLetter(r):
		return upper | lower | letter
	case unicode.IsMark(r):
		return upper | lower
	case unicode.IsNumber(r):
		return number
	}
	return 0
}

// first decodes the first rune; width is 0 at the end.
func first(text string) (c class, width int) {
	if text == "" {
		return 0, 0
	}
	if b := text[0]; b < utf8.RuneSelf {
		return ascii[b], 1
	}
	r, width := utf8.DecodeRuneInString(text)
	return classOf(r), width
}

// run is how many bytes at the start of text are of any of the wanted classes.
func run(text string, wanted class) (n int) {
	for {
		c, width := first(text[n:])
		if c&wanted == 0 {
			return n
		}
		n += width
	}
}

func nextO200k(text string) int {
	c, width := first(text)
	leads := c&(letter|number|lineEnd) == 0 // it may stand before letters
	if leads {
		if n := withLower(text[width:]); n > 0 {
			return width + n + ending(text[width+n:])
		}
	}
	if n := withLower(text); n > 0 {
		return n + ending(text[n:])
	}
	if !leads {
		width = 0
	}
	if n := run(text[width:], upper); n > 0 {
		return width + n + ending(text[width+n:])
	}
	return nextPlain(text, true)
}

// withLower matches UPPER*LOWER+, or is 0. Where nothing follows that is LOWER alone, UPPER gives back
// what it took, up to the last that is LOWER too.
func withLower(text string) int {
	n, back := 0, 0
	for {
		c, width := first(text[n:])
		if c&upper == 0 {
			break
		}
		n += width
		if c&lower != 0 {
			back = n
		}
	}
	if more := run(text[n:], lower); more > 0 {
		return n + more
	}
	return back
}

func nextCL100k(text string) int {
	if n := ending(text); n > 0 {
		return n
	}
	if c, width := first(text); c&(letter|number|lineEnd) == 0 {
		if n := run(text[width:], letter); n > 0 {
			return width + n
		}
	}
	if n := run(text, letter); n > 0 {
		return n
	}
	return nextPlain(text, false)
}

// nextPlain matches what both patterns end with.
func nextPlain(text string, slash bool) int {
	c, width := first(text)
	if c&number != 0 {
		return upToThree(text)
	}
	lead := 0
	if text[0] == ' ' {
		lead = 1
	}
	if n := others(text[lead:]); n > 0 {
		n += lead
		for n < len(text) && (text[n] == '\r' || text[n] == '\n' || slash && text[n] == '/') {
			n++
		}
		return n
	}
	return max(width, spaces(text))
}

func upToThree(text string) (n int) {
	for range 3 {
		c, width := first(text[n:])
		if c&number == 0 {
			break
		}
		n += width
	}
	return n
}

// others is how many bytes at the start are [^\s\p{L}\p{N}]: marks too.
func others(text string) (n int) {
	for {
		c, width := first(text[n:])
		if width == 0 || c&(space|letter|number) != 0 {
			return n
		}
		n += width
	}
}

// spaces matches a run of spaces: up to its last line end, or without its last rune where something
// follows it, or whole.
func spaces(text string) int {
	n, end, last := 0, 0, 0
	for {
		c, width := first(text[n:])
		if c&space == 0 {
			break
		}
		n, last = n+width, width
		if c&lineEnd != 0 {
			end = n
		}
	}
	switch {
	case end > 0:
		return end
	case n < len(text) && n > last:
		return n - last
	}
	return n
}

// ending matches an English ending, or 0. In any case 's has a third spelling, the long s.
func ending(text string) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	switch text[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if len(text) > 2 && text[2]|0x20 == 'e' {
			return 3
		}
	case 'l':
		if len(text) > 2 && text[2]|0x20 == 'l' {
			return 3
		}
	}
	if len(text) > 2 && text[1:3] == "ſ" {
		return 3
	}
	return 0
}
