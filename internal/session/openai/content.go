package openai

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/assay"
)

// Content is what a message says: a string, null, or a list of parts. Texts of several parts are
// joined by a line feed; nearly all messages hold nothing but text.
type Content struct {
	Text string
	Rich *Rich
}

// Rich is what parts hold beside text.
type Rich struct {
	Reasoning string
	Calls     []assay.ToolCall
	Results   []assay.Message
	Parts     []assay.Part
}

func (c *Content) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '"':
		return json.UnmarshalDecode(dec, &c.Text)
	case '[':
		var parts []part
		if err := json.UnmarshalDecode(dec, &parts); err != nil {
			return err
		}
		for i := range parts {
			c.add(&parts[i])
		}
		return nil
	default: // null, or an object that some tool wrote in place of its text
		v, err := dec.ReadValue()
		if err == nil {
			c.Text = raw(v)
		}
		return err
	}
}

// and is c followed by d, of which one is nearly always empty.
func (c Content) and(d Content) Content {
	c.Text = join(c.Text, d.Text)
	switch {
	case c.Rich == nil:
		c.Rich = d.Rich
	case d.Rich != nil:
		c.Rich = &Rich{
			Reasoning: join(c.Rich.Reasoning, d.Rich.Reasoning),
			Calls:     slices.Concat(c.Rich.Calls, d.Rich.Calls),
			Results:   slices.Concat(c.Rich.Results, d.Rich.Results),
			Parts:     slices.Concat(c.Rich.Parts, d.Rich.Parts),
		}
	}
	return c
}

// part is one element of a content list, in any of its common shapes.
type part struct {
	kind   string
	fields partFields
	raw    jsontext.Value
}

type partFields struct {
	Type      string         `json:"type"`
	Text      Text           `json:"text"`
	Value     Text           `json:"value"`
	Content   Content        `json:"content"`
	Refusal   Text           `json:"refusal"`
	Thinking  Text           `json:"thinking"`
	Reasoning Text           `json:"reasoning"`
	ImageURL  jsontext.Value `json:"image_url"`
	Audio     *struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
	File *struct {
		ID       string `json:"file_id"`
		Data     string `json:"file_data"`
		Filename string `json:"filename"`
	} `json:"file"`
	Source *struct {
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
	} `json:"source"`
	ID        Text `json:"id"`
	Name      Text `json:"name"`
	Input     Text `json:"input"`
	ToolUseID Text `json:"tool_use_id"`
	// The parts of OpenTelemetry's GenAI messages.
	Arguments Text `json:"arguments"`
	Response  Text `json:"response"`
	Result    Text `json:"result"`
	MimeType  Text `json:"mime_type"`
	Modality  Text `json:"modality"`
	URI       Text `json:"uri"`
	FileID    Text `json:"file_id"`
}

func (p *part) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		p.kind, p.fields.Text = "text", Text(token.String())
		return err
	}
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	p.raw = v.Clone()
	if v.Kind() == '{' && json.Unmarshal(v, &p.fields, jsontext.AllowDuplicateNames(true)) == nil {
		p.kind = p.fields.Type
		return nil
	}
	p.kind, p.fields = "unknown", partFields{} // kept as it is, whatever it is
	return nil
}

func (c *Content) add(p *part) {
	f := &p.fields
	switch p.kind {
	case "text", "input_text", "output_text":
		c.Text = join(c.Text, first(string(f.Text), string(f.Value), f.Content.Text))
		return
	case "refusal":
		c.Text = join(c.Text, first(string(f.Refusal), string(f.Text)))
		return
	}
	if c.Rich == nil {
		c.Rich = &Rich{}
	}
	c.Rich.add(p)
}

func (r *Rich) add(p *part) {
	f := &p.fields
	switch p.kind {
	case "reasoning", "thinking":
		r.Reasoning = join(r.Reasoning, first(string(f.Thinking), string(f.Reasoning), string(f.Text), string(f.Value), f.Content.Text))
	case "tool_use":
		r.Calls = append(r.Calls, assay.ToolCall{ID: string(f.ID), Name: string(f.Name), Arguments: string(f.Input)})
	case "tool_call":
		if f.Name != "" {
			r.Calls = append(r.Calls, assay.ToolCall{ID: string(f.ID), Name: string(f.Name), Arguments: string(f.Arguments)})
		} else {
			r.Calls = append(r.Calls, valueCall(string(f.Value), p.raw))
		}
	case "tool_call_response":
		r.Results = append(r.Results, assay.Message{Role: assay.RoleTool, ToolCallID: string(f.ID), Content: first(string(f.Response), string(f.Result), f.Content.Text)})
	case "tool_result":
		result := assay.Message{Role: assay.RoleTool, ToolCallID: string(f.ToolUseID), Content: f.Content.Text}
		if f.Content.Rich != nil {
			result.Parts = f.Content.Rich.Parts
		}
		r.Results = append(r.Results, result)
	default:
		r.Parts = append(r.Parts, p.opaque())
	}
}

// valueCall reads the tool call that a part holds as JSON inside a string.
func valueCall(value string, whole jsontext.Value) assay.ToolCall {
	var f Function
	if json.Unmarshal([]byte(value), &f) == nil && f.Name != "" {
		return f.call("")
	}
	return assay.ToolCall{Arguments: first(value, raw(whole))}
}

func (p *part) opaque() assay.Part {
	f := &p.fields
	kind := strings.TrimSuffix(strings.TrimPrefix(p.kind, "input_"), "_url")
	if kind == "" {
		kind = "unknown"
	}
	switch {
	case len(f.ImageURL) > 0:
		url := imageURL(f.ImageURL)
		return assay.Part{Kind: kind, MediaType: mediaType(url), Data: url}
	case f.Audio != nil:
		return assay.Part{Kind: kind, MediaType: prefixed("audio/", f.Audio.Format), Data: f.Audio.Data}
	case f.File != nil:
		data := first(f.File.Data, f.File.ID, f.File.Filename)
		return assay.Part{Kind: kind, MediaType: mediaType(data), Data: data}
	case f.Source != nil:
		return assay.Part{Kind: kind, MediaType: f.Source.MediaType, Data: first(f.Source.Data, f.Source.URL)}
	case f.MimeType != "" || f.Modality != "":
		return assay.Part{Kind: first(string(f.Modality), kind), MediaType: string(f.MimeType), Data: first(f.Content.Text, string(f.URI), string(f.FileID))}
	case f.Value != "":
		return assay.Part{Kind: kind, MediaType: mediaType(string(f.Value)), Data: string(f.Value)}
	}
	return assay.Part{Kind: kind, Data: raw(p.raw)}
}

func imageURL(v jsontext.Value) string {
	var object struct {
		URL string `json:"url"`
	}
	if v.Kind() == '{' && json.Unmarshal(v, &object) == nil {
		return object.URL
	}
	var url Text
	_ = json.Unmarshal(v, &url) // Text takes any value
	return string(url)
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "\n" + b
}
