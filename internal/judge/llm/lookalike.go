package llm

import "unicode/utf8"

// alphabet is a run of characters that are variants of ASCII ones.
type alphabet struct {
	from, to rune
	first    rune // that from stands for
	every    rune // the run begins anew after so many; 0: never
}

var alphabets = []alphabet{
	{0xFF01, 0xFF5E, '!', 0},    // fullwidth
	{0x1D400, 0x1D6A3, 'a', 26}, // mathematical, one after the other
	{0x1D7CE, 0x1D7FF, '0', 10}, // mathematical digits, likewise
	{0x249C, 0x24B5, 'a', 0},    // in parentheses
	{0x24B6, 0x24E9, 'a', 26},   // in circles
	{0x1F110, 0x1F129, 'a', 0},  // in parentheses
	{0x1F130, 0x1F149, 'a', 0},  // in squares
	{0x1F150, 0x1F169, 'a', 0},  // in black circles
	{0x1F170, 0x1F189, 'a', 0},  // in black squares
	{0x1F1E6, 0x1F1FF, 'a', 0},  // regional indicators
	{0xE0020, 0xE007E, ' ', 0},  // tags, which nobody sees
}

// lookalike is the ASCII character that r is a variant of, or merely looks like.
func lookalike(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	if r >= firstConfusable && int(r-firstConfusable) < len(confused) && confused[r-firstConfusable] != 0 {
		return rune(confused[r-firstConfusable])
	}
	for _, a := range alphabets {
		if r >= a.from && r <= a.to {
			n := r - a.from
			if a.every > 0 {
				n %= a.every
			}
			return a.first + n
		}
	}
	return r
}

// confused are the Latin letters that letters of other scripts look like, by their distance from the
// first of those scripts.
var confused = func() (t [0x0530 - firstConfusable]byte) {
	const others, latin = "аеорсухіѕјһԁԛԝвкмнт" + "АЕОРСУХІЅЈНВКМТ" + "αεοριυνκτ" + "ΑΕΟΡΙΥΝΚΤΒΗΜΖΧ",
		"aeopcyxisjhdqwbkmht" + "aeopcyxisjhbkmt" + "aeopiuvkt" + "aeopiynktbhmzx"
	n := 0
	for _, r := range others {
		t[r-firstConfusable] = latin[n]
		n++
	}
	return t
}()

const firstConfusable = 0x0370 // Greek, then Cyrillic
