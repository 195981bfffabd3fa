package e2e

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

// rates are dollars per million tokens, with so many decimals that every call has to be rounded.
type rates struct{ input, cached, written, output string }

var odd = rates{"0.123456789", "0.012345678", "0.154321098", "0.987654321"}

// flags give a model the price.
func (r rates) flags() []string {
	return []string{"--input-price", r.input, "--cached-price", r.cached, "--cache-write-price", r.written, "--output-price", r.output}
}

// cost is what a call costs in billionths of a dollar, rounded up: computed apart from the program.
func (r rates) cost(u assay.Usage) assay.USD {
	sum := new(big.Rat)
	for price, tokens := range map[string]int64{r.input: u.Input - u.Cached - u.CacheWrite, r.cached: u.Cached, r.written: u.CacheWrite, r.output: u.Output} {
		p, ok := new(big.Rat).SetString(price)
		if !ok {
			panic(price)
		}
		sum.Add(sum, p.Mul(p, new(big.Rat).SetInt64(tokens)))
	}
	sum.Mul(sum, big.NewRat(1000, 1)) // from millionths of a dollar to billionths
	up := new(big.Int).Add(sum.Num(), new(big.Int).Sub(sum.Denom(), big.NewInt(1)))
	return assay.USD(up.Div(up, sum.Denom()).Int64())
}

// longest is the max_tokens of judges that ask a till.
const longest = 600

// till is a provider that has good and bad moments and keeps the bill itself: for every call that it
// worked on, whether or not its answer arrived.
type till struct {
	t     *testing.T
	rates rates

	mu     sync.Mutex
	random *rand.Rand
	bills  map[string]bill // by request id
	billed assay.USD
	limit  assay.USD // the bill may never be more; 0 is no limit
	month  assay.USD // likewise, as another budget
}

// bill is one call.
type bill struct {
	usage assay.Usage
	told  bool // the answer says so
	free  bool // the answer is an error
}

func newTill(t *testing.T, w *world, r rates) *till {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	b := &till{t: t, rates: r, random: rand.New(rand.NewPCG(seed, 3)), bills: map[string]bill{}}
	w.model.SetScript(b.answer)
	return b
}

// answer draws what becomes of a call.
func (b *till) answer(r *llmtest.Request) llmtest.Step {
	b.mu.Lock()
	defer b.mu.Unlock()
	draw := b.random.Int64N
	id := fmt.Sprintf("req-%d", r.N)
	// Not far from the most that can be set aside: a byte is a token, and longest is as long as it may be.
	u := assay.Usage{Known: true, Input: int64(len(r.Body)) + draw(900), Output: longest/2 + draw(longest/2+1)}
	u.Cached = draw(u.Input + 1)
	if r.API() == llmtest.Messages {
		u.CacheWrite = draw(u.Input - u.Cached + 1)
	}
	u.Reasoning = draw(u.Output + 1)
	one := bill{usage: u, told: true}
	text, step := llmtest.Answer(r.Token(), map[string]any{"ok": true}), llmtest.Step{}
	switch draw(16) {
	case 0:
		text = "It went well, I would say."
	case 1:
		text = "" // an empty answer
	case 2:
		step, one.told = llmtest.CutBody(), false
	case 3:
		step, one.told = llmtest.Cut(), false
	case 4:
		step, one.free = llmtest.ServerError(), true
	case 5:
		one.told = false
		step = llmtest.Status(200, answered(r, text, nil))
	}
	if r.N%50 == 49 { // rare: a limiter that meets many slows down for long
		step, one = llmtest.RateLimited(0).With("Retry-After-Ms", "20"), bill{usage: u, told: true, free: true}
	}
	if one.told && !one.free {
		step = llmtest.Status(200, answered(r, text, &u))
	}
	if !one.free {
		b.billed += b.rates.cost(u)
		for _, most := range []assay.USD{b.limit, b.month} {
			if most > 0 && b.billed > most {
				b.t.Errorf("the bill is %s, the budget is %s", b.billed, most)
			}
		}
	}
	b.bills[id] = one
	return step.With("X-Request-Id", id).After(time.Duration(draw(60)) * time.Millisecond)
}

// allow changes what the bill may be.
func (b *till) allow(most assay.USD) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = most
}

func (b *till) bill() assay.USD {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.billed
}

func (b *till) of(id string) (bill, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, ok := b.bills[id]
	return one, ok
}

// answered is a response of the request's protocol. Without u it tells no usage.
func answered(r *llmtest.Request, text string, u *assay.Usage) string {
	usage := ""
	if r.API() == llmtest.Messages {
		if u != nil {
			usage = fmt.Sprintf(`,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d,"output_tokens_details":{"thinking_tokens":%d}}`,
				u.Input-u.Cached-u.CacheWrite, u.CacheWrite, u.Cached, u.Output, u.Reasoning)
		}
		return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":%s}],"stop_reason":"end_turn","stop_sequence":null%s}`, r.Model(), quoted(text), usage)
	}
	if u != nil {
		usage = fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}`,
			u.Input, u.Output, u.Input+u.Output, u.Cached, u.Reasoning)
	}
	return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":%q,"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%s}}]%s}`, r.Model(), quoted(text), usage)
}

func quoted(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a text always has JSON
	}
	return string(raw)
}

// priced gives the model of judge j a price.
func (w *world) priced(r rates) {
	w.t.Helper()
	if out := w.ok(append([]string{"models", "set", "j"}, r.flags()...)...); !strings.Contains(out, r.input) {
		w.t.Errorf("models set: %s", out)
	}
}
