package api

import (
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
)

// Problem is how every error leaves the server (RFC 9457), with what clients act on: a stable code.
type Problem struct {
	Type    string            `json:"type" doc:"urn:assay:error: and the code"`
	Title   string            `json:"title"`
	Status  int               `json:"status"`
	Detail  string            `json:"detail" doc:"what is wrong and where"`
	Code    assay.Code        `json:"code" doc:"stable name of the kind of error"`
	Hint    string            `json:"hint,omitempty" doc:"what to do"`
	Details map[string]string `json:"details,omitempty" doc:"facts for programs, e.g. run: r17"`
	Errors  []FieldProblem    `json:"errors,omitempty" doc:"every place where the request does not validate"`
}

// FieldProblem is one place where a request does not validate.
type FieldProblem struct {
	Where   string `json:"where" doc:"e.g. body.judges[0] or query.limit"`
	Message string `json:"message"`
}

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

func (p *Problem) Error() string             { return p.Detail }
func (p *Problem) GetStatus() int            { return p.Status }
func (p *Problem) ContentType(string) string { return ProblemType }

// Status is the one place where a code becomes an HTTP status.
func Status(code assay.Code) int {
	switch code {
	case assay.CodeInvalid, assay.CodeRejected:
		return http.StatusUnprocessableEntity
	case assay.CodeNotFound:
		return http.StatusNotFound
	case assay.CodeConflict, assay.CodeRefused, assay.CodeIdempotency, assay.CodeLost:
		return http.StatusConflict
	case assay.CodeUnauthorized:
		return http.StatusUnauthorized
	case assay.CodeForbidden:
		return http.StatusForbidden
	case assay.CodeUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// codeOf names an error that arose in HTTP itself, before any of our code ran.
func codeOf(status int) assay.Code {
	switch {
	case status == http.StatusNotFound:
		return assay.CodeNotFound
	case status == http.StatusServiceUnavailable || status == http.StatusRequestTimeout:
		return assay.CodeUnavailable
	case status < 500:
		return assay.CodeInvalid
	}
	return assay.CodeInternal
}

// problemOf turns an error of ours into a Problem. The text of an error without a code stays in the
// process: it may hold what clients must not see.
func problemOf(err error) *Problem {
	var e *assay.Error
	if !errors.As(err, &e) {
		e = &assay.Error{Code: assay.CodeInternal, Message: "the server failed to answer", Hint: "its log says why"}
	}
	p := newProblem(Status(e.Code), e.Code, e.Error())
	p.Hint, p.Details = e.Hint, e.Details
	return p
}

func newProblem(status int, code assay.Code, detail string) *Problem {
	return &Problem{
		Type: "urn:assay:error:" + string(code), Title: http.StatusText(status), Status: status,
		Code: code, Detail: detail,
	}
}

// fromHuma turns huma's own errors, of validation mostly, into a Problem.
func fromHuma(m *huma.ErrorModel) *Problem {
	p := newProblem(m.Status, codeOf(m.Status), m.Detail)
	for _, d := range m.Errors {
		p.Errors = append(p.Errors, FieldProblem{Where: d.Location, Message: d.Message})
	}
	if len(p.Errors) > 0 {
		p.Detail = m.Detail + ": " + p.Errors[0].Where + ": " + p.Errors[0].Message
		p.Hint = "the API document at /openapi.json says what is accepted"
	}
	return p
}

// Err is the error that a client sees for p, equal in code to the one that the server had.
func (p *Problem) Err() error {
	return &assay.Error{Code: p.Code, Message: p.Detail, Hint: p.Hint, Details: p.Details}
}
