package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"assay/internal/assay"
)

// EncodeBody turns a session into what is stored: its canonical JSON, hashed, then compressed with
// zstd. size is the length before compression.
func EncodeBody(s *assay.Session) (body []byte, hash assay.Hash, size int64, err error) {
	scratch := scratches.Get().(*[]byte)
	defer release(scratch)
	raw, err := s.AppendCanonical((*scratch)[:0])
	if err != nil {
		return nil, "", 0, err
	}
	*scratch = raw
	body, hash = CompressBody(raw)
	return body, hash, int64(len(raw)), nil
}

// Canonical texts and compressed ones on their way; a rare large one is not kept.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

const maxScratch = 1 << 20

func release(scratch *[]byte) {
	if cap(*scratch) <= maxScratch {
		scratches.Put(scratch)
	}
}

// CompressBody hashes and compresses canonical JSON.
func CompressBody(raw []byte) ([]byte, assay.Hash) {
	sum := sha256.Sum256(raw)
	enc := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(enc)
	scratch := scratches.Get().(*[]byte)
	*scratch = enc.EncodeAll(raw, (*scratch)[:0])
	body := bytes.Clone(*scratch) // of its own length: batches of bodies wait in memory
	release(scratch)
	return body, assay.Hash(hex.EncodeToString(sum[:]))
}

// DecodeBody is the inverse of EncodeBody.
func DecodeBody(body []byte) (*assay.Session, error) {
	raw, err := DecompressBody(body)
	if err != nil {
		return nil, err
	}
	s := new(assay.Session)
	// Metadata is kept as recorded, repeated names and all.
	if err := json.Unmarshal(raw, s, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "read stored session: %w", err)
	}
	return s, nil
}

// DecompressBody returns the canonical JSON.
func DecompressBody(body []byte) ([]byte, error) {
	dec := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(dec)
	raw, err := dec.DecodeAll(body, nil)
	if err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "decompress stored session: %w", err)
	}
	return raw, nil
}

// One encoder per worker at a time, each single-threaded: callers bring their own parallelism.
var encoders = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // constant options
	}
	return e
}}

var decoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		panic(err) // constant options
	}
	return d
}}

// BodySize is the length of a body's canonical JSON, as its header tells; where it does not, a guess.
func BodySize(body []byte) int64 {
	var h zstd.Header
	if h.Decode(body) == nil && h.HasFCS {
		return int64(h.FrameContentSize)
	}
	return 8 * int64(len(body))
}
