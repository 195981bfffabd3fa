package demo

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"assay/internal/assay"
)

// ending is how a session comes out. It is nowhere written down: a judge has to read it.
type ending int

const (
	resolved  ending = iota
	escalated        // handed to a person
	gaveUp           // the tool failed and the agent said so
	claimed          // the agent says that it is done and did nothing
)

// story is one session in the making.
type story struct {
	dice    *rand.Rand
	day     int
	number  int
	at      time.Time
	arm     string
	version string
	order   string
	item    item
	calls   int
}

// outcome draws an ending. The treatment resolves more, the bad day fewer, whatever the arm.
func (s *story) outcome() ending {
	p := 0.65
	if s.arm == assay.Treatment {
		p = 0.82
	}
	if s.day == badDay {
		p *= 0.45
	}
	if s.dice.Float64() < p {
		return resolved
	}
	switch u := s.dice.Float64(); {
	case u < 0.45:
		return escalated
	case u < 0.80 || s.day == badDay:
		return gaveUp
	}
	return claimed
}

func (s *story) turns() []assay.Turn {
	t := pick(s.dice, topics)
	s.item = pick(s.dice, items)
	s.order = fmt.Sprintf("EX-%06d", s.dice.IntN(1_000_000))
	end := s.outcome()

	first := s.turn(
		assay.Message{Role: assay.RoleSystem, Content: system},
		assay.Message{Role: assay.RoleUser, Content: s.fill(pick(s.dice, t.asks)) + " " + pick(s.dice, moods)},
	)
	first.Metadata = s.metadata(t.name)
	first.Messages = append(first.Messages, s.lookUp()...)
	first.Messages = append(first.Messages, s.says(pick(s.dice, offers)+" "+s.fill(t.offer)))

	second := s.turn(assay.Message{Role: assay.RoleUser, Content: pick(s.dice, agrees)})
	second.Messages = append(second.Messages, s.act(t, end)...)
	turns := []assay.Turn{first, second}

	if s.dice.IntN(100) < 55 {
		last := s.turn(assay.Message{Role: assay.RoleUser, Content: s.parting(end)})
		last.Messages = append(last.Messages, s.says(pick(s.dice, closings)))
		turns = append(turns, last)
	}
	if s.day == updateDay && s.dice.IntN(100) < 10 {
		turns[0].AgentVersion = "demo-agent 1.4.0" // the roll-out met this one in the middle
	}
	return turns
}

// act is the turn in which the ending shows.
func (s *story) act(t topic, end ending) (out []assay.Message) {
	switch end {
	case resolved:
		if s.dice.IntN(100) < 12 {
			out = append(out, s.call(t.tool, s.arguments(), s.failure())...)
		}
		out = append(out, s.call(t.tool, s.arguments(), s.confirmation(t))...)
		return append(out, s.says(s.fill(t.done)))
	case escalated:
		result := s.failure()
		if s.dice.IntN(100) < 20 {
			result = s.confirmation(t) // done, and the agent hands over all the same
		}
		out = append(out, s.call(t.tool, s.arguments(), result)...)
		out = append(out, s.call("transfer_to_human", `{"order_id":"`+s.order+`","reason":"`+t.name+`"}`, `{"status":"queued","wait_minutes":`+fmt.Sprint(3+s.dice.IntN(25))+`}`)...)
		return append(out, s.says(pick(s.dice, handovers)))
	case gaveUp:
		for range 1 + s.dice.IntN(3) {
			out = append(out, s.call(t.tool, s.arguments(), s.failure())...)
		}
		return append(out, s.says(pick(s.dice, apologies)))
	}
	return append(out, s.says(s.fill(t.done)))
}

func (s *story) turn(messages ...assay.Message) assay.Turn {
	started := s.at
	s.at = s.at.Add(time.Duration(4_000+s.dice.IntN(90_000)) * time.Millisecond)
	ended := s.at
	s.at = s.at.Add(time.Duration(2_000+s.dice.IntN(180_000)) * time.Millisecond)
	return assay.Turn{StartedAt: &started, EndedAt: &ended, AgentVersion: s.version, Source: "assay-demo", Messages: messages}
}

func (s *story) says(text string) assay.Message {
	return assay.Message{Role: assay.RoleAssistant, Content: text}
}

// call is a tool call and its result.
func (s *story) call(tool, arguments, result string) []assay.Message {
	s.calls++
	id := fmt.Sprintf("call_%d", s.calls)
	return []assay.Message{
		{Role: assay.RoleAssistant, ToolCalls: []assay.ToolCall{{ID: id, Name: tool, Arguments: arguments}}},
		{Role: assay.RoleTool, Name: tool, ToolCallID: id, Content: result},
	}
}

func (s *story) lookUp() []assay.Message {
	var b strings.Builder
	fmt.Fprintf(&b, `{"order_id":"%s","status":"%s","placed":"%s","currency":"EUR","lines":[{"sku":"%s","name":"%s","quantity":1,"price":%d.00}`,
		s.order, pick(s.dice, orderStates), s.at.AddDate(0, 0, -2-s.dice.IntN(20)).Format(time.DateOnly), s.item.sku, s.item.name, s.item.price)
	for range s.dice.IntN(4) {
		other := pick(s.dice, items)
		fmt.Fprintf(&b, `,{"sku":"%s","name":"%s","quantity":%d,"price":%d.00}`, other.sku, other.name, 1+s.dice.IntN(3), other.price)
	}
	fmt.Fprintf(&b, `],"ship_to":{"name":"Synthetic Customer","street":"%d Example Street","city":"Sampleton"}}`, 1+s.dice.IntN(300))
	return s.call("find_order", `{"order_id":"`+s.order+`"}`, b.String())
}

func (s *story) arguments() string {
	return `{"order_id":"` + s.order + `","sku":"` + s.item.sku + `"}`
}

func (s *story) confirmation(t topic) string {
	return fmt.Sprintf(`{"status":"confirmed","action":"%s","reference":"R%07d"}`, t.tool, s.dice.IntN(10_000_000))
}

func (s *story) failure() string { return pick(s.dice, failures) }

func (s *story) parting(end ending) string {
	if end == resolved {
		return pick(s.dice, thanks)
	}
	return pick(s.dice, complaints)
}

// fill puts the order and the item into a phrase.
func (s *story) fill(phrase string) string {
	return strings.NewReplacer("{order}", s.order, "{item}", s.item.name).Replace(phrase)
}
