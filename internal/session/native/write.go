package native

import (
	"encoding/json"
	"strconv"

	"assay/internal/assay"
)

// Append appends s and its labels as one line of the native format, with its line feed.
func Append(dst []byte, s *assay.Session, labels []assay.Label) ([]byte, error) {
	dst = append(dst, `{"format":`...)
	dst = assay.AppendString(dst, assay.FormatVersion)
	open := len(dst)
	dst, err := s.AppendCanonical(dst)
	if err != nil {
		return nil, err
	}
	dst[open] = ','
	dst = dst[:len(dst)-1]
	for i := range labels {
		if i == 0 {
			dst = append(dst, `,"labels":[`...)
		} else {
			dst = append(dst, ',')
		}
		if dst, err = appendLabel(dst, &labels[i]); err != nil {
			return nil, err
		}
	}
	if len(labels) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, "}\n"...), nil
}

func appendLabel(dst []byte, l *assay.Label) ([]byte, error) {
	if !json.Valid(l.Value) {
		return nil, assay.Errorf(assay.CodeInvalid, "label %q of %s holds no JSON value", l.Criterion, assay.SessionName(l.UserID, l.SessionID))
	}
	dst = assay.AppendString(append(dst, `{"criterion":`...), l.Criterion)
	if l.CriterionVersion != "" {
		dst = assay.AppendString(append(dst, `,"criterion_version":`...), l.CriterionVersion)
	}
	dst = append(append(dst, `,"value":`...), l.Value...)
	dst = assay.AppendString(append(dst, `,"rater":`...), l.Rater)
	if l.Blind {
		dst = append(dst, `,"blind":true`...)
	}
	if l.Decided {
		dst = append(dst, `,"decided":true`...)
	}
	if l.Note != "" {
		dst = assay.AppendString(append(dst, `,"note":`...), l.Note)
	}
	if l.Use != "" {
		dst = assay.AppendString(append(dst, `,"use":`...), string(l.Use))
	}
	if dst = append(dst, `,"probability":`...); l.Probability == 0 {
		return append(dst, "null}"...), nil
	}
	return append(strconv.AppendFloat(dst, l.Probability, 'g', -1, 64), '}'), nil
}
