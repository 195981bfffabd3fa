package tokens

import "unicode/utf8"

// most is never less than a tokenizer makes of text that works on bytes: the number of its bytes, with
// each byte that is not UTF-8 as the three of U+FFFD, which is what JSON makes of it.
//
// Byte-level BPE (OpenAI, Llama 3, Qwen, DeepSeek, Mistral's newer ones) makes each token of one byte or
// more. SentencePiece with byte fallback (Gemma, Llama 2, older Mistral) makes each of one character or
// one byte. It is no bound for a tokenizer that first rewrites the text into more: NFKC (T5, and what is
// known of older Claude models) makes 18 letters of U+FDFA. Nor does it count what a request adds, such as
// the space that SentencePiece puts in front.
func most(text string) int64 {
	n := int64(len(text))
	if utf8.ValidString(text) {
		return n
	}
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				n += 2
			}
		}
	}
	return n
}
