package provider

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
)

// problem is what an endpoint says when it does not answer, whatever shape its server gives it:
// OpenAI's error object, Anthropic's, Google's in a list, a bare text, FastAPI's detail, an error of
// an upstream as a text inside another one, a page of a proxy.
type problem struct {
	status  int
	header  http.Header
	message string
	codes   []string    // types, codes and reasons, in lower case
	quotas  []string    // of Google's QuotaFailure: their quotaId and metric, in lower case
	delay   string      // of Google's RetryInfo
	limits  http.Header // of OpenRouter's metadata
	page    bool        // it is no JSON but a page
	shaped  bool        // it is a JSON object: the server itself speaks, not something before it
}

func readProblem(status int, body []byte) problem {
	p := problem{status: status}
	if !gjson.ValidBytes(body) {
		text := strings.TrimSpace(string(body[:min(len(body), maxShown)]))
		if p.page = strings.HasPrefix(text, "<"); p.page {
			text = title(text)
		}
		p.message = firstLine(text)
		return p
	}
	p.add(gjson.ParseBytes(body), deepest)
	return p
}

// deepest is how many objects inside each other are read.
const deepest = 6

// relayed reads an error that came with a status of success: its code may be that of the upstream.
func relayed(status int, doc gjson.Result) problem {
	p := problem{status: status}
	for _, path := range []string{"choices.0.error", "error"} {
		if e := doc.Get(path); e.IsObject() {
			doc = e
			break
		}
	}
	p.add(doc, deepest)
	for _, code := range append(p.codes, doc.Get("status_code").String()) {
		if status, err := strconv.Atoi(code); err == nil && status >= 400 && status < 600 {
			p.status = status
			break
		}
	}
	return p
}

func reportsError(doc gjson.Result) bool {
	if doc.IsArray() {
		doc = doc.Get("0")
	}
	e := doc.Get("error")
	return e.IsObject() || e.Type == gjson.String && e.Str != "" || doc.Get("object").String() == "error"
}

// add takes what one object says, and what an object inside it says.
func (p *problem) add(doc gjson.Result, depth int) {
	if doc.IsArray() {
		doc = doc.Get("0")
	}
	p.shaped = p.shaped || doc.IsObject()
	if doc.Type == gjson.String {
		p.say(doc.Str, depth)
		return
	}
	if !doc.IsObject() || depth == 0 {
		return
	}
	for _, name := range []string{"type", "code", "status", "reason"} {
		if v := doc.Get(name); v.Type == gjson.String || v.Type == gjson.Number {
			p.codes = append(p.codes, strings.ToLower(v.String()))
		}
	}
	p.say(doc.Get("message").String(), depth)
	for _, name := range []string{"error", "innererror", "details", "metadata.raw"} {
		switch v := doc.Get(name); {
		case name == "details" && v.IsArray():
			p.details(v)
		case name == "details":
			p.codes = append(p.codes, strings.ToLower(v.Get("error_code").String()))
		case v.IsObject() || v.Type == gjson.String:
			p.add(v, depth-1)
		}
	}
	doc.Get("metadata.headers").ForEach(func(name, value gjson.Result) bool {
		if p.limits == nil {
			p.limits = http.Header{}
		}
		p.limits.Set(name.String(), value.String())
		return true
	})
	for _, name := range []string{"detail", "title", "msg"} {
		if p.message == "" {
			p.message = firstLine(doc.Get(name).String())
		}
	}
}

// say keeps a message, the first and those of objects inside it. A message that is JSON itself comes
// from a server further back.
func (p *problem) say(message string, depth int) {
	message = strings.TrimSpace(message)
	if (strings.HasPrefix(message, "{") || strings.HasPrefix(message, "[")) && depth > 0 && gjson.Valid(message) {
		p.add(gjson.Parse(message), depth-1)
		return
	}
	if message == "" || strings.Contains(p.message, firstLine(message)) {
		return
	}
	if p.message != "" {
		message = p.message + ": " + message
	}
	p.message = firstLine(message)
}

// details reads Google's list of typed details.
func (p *problem) details(list gjson.Result) {
	list.ForEach(func(_, d gjson.Result) bool {
		if reason := d.Get("reason").String(); reason != "" {
			p.codes = append(p.codes, strings.ToLower(reason))
		}
		if delay := d.Get("retryDelay").String(); delay != "" {
			p.delay = delay
		}
		d.Get("violations").ForEach(func(_, v gjson.Result) bool {
			p.quotas = append(p.quotas, strings.ToLower(v.Get("quotaId").String()), strings.ToLower(v.Get("quotaMetric").String()))
			return true
		})
		return true
	})
}

// title is what a page calls itself.
func title(page string) string {
	lower := strings.ToLower(page)
	from := strings.Index(lower, "<title>")
	if from < 0 {
		return ""
	}
	text := page[from+len("<title>"):]
	if end := strings.Index(strings.ToLower(text), "</title>"); end >= 0 {
		text = text[:end]
	}
	return text
}

// says looks for one of the words inside the message and the codes.
func (p problem) says(words ...string) bool {
	m := strings.ToLower(p.message + "\n" + strings.Join(p.codes, "\n"))
	for _, w := range words {
		if strings.Contains(m, w) {
			return true
		}
	}
	return false
}

func (p problem) coded(words ...string) bool {
	for _, w := range words {
		for _, c := range p.codes {
			if c == w {
				return true
			}
		}
	}
	return false
}

// sentence tells a person what happened and, where the class does not say it, what to do.
func (p problem) sentence(class assay.Class, path string) string {
	s := fmt.Sprintf("the endpoint answered %d", p.status)
	if text := http.StatusText(p.status); text != "" {
		s += " " + text
	}
	switch {
	case p.page && p.message != "":
		s += ": a page with the title " + strconv.Quote(p.message)
	case p.page:
		s += ": a page"
	case p.message != "":
		s += ": " + p.message
	}
	switch {
	case p.status >= 300 && p.status < 400:
		s += "; it points to " + firstLine(p.header.Get("Location")) + ", and no redirect is followed: give base_url as it is there"
	case p.status == http.StatusProxyAuthRequired:
		s += "; the proxy that the environment names wants a login"
	case class == assay.ClassUnreachable:
		s += "; there is no /" + path + " under this base_url"
	case class == assay.ClassJudgeError:
		s += "; the judge's parameters do not suit this model"
		if what := remedyOf(p.message); what != "" {
			s += ": " + what
		}
	}
	return s
}
