package define

import (
	"errors"
	"regexp"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/definition"
)

var (
	shortName = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$`)
	paramName = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$`)
)

// checkName checks the name of a suite, a schedule or a capability.
func checkName(n *yaml.Node, what string) error {
	if n.Kind != yaml.ScalarNode || !shortName.MatchString(n.Value) {
		return definition.At(n, "%.80q is not a valid name of a %s", n.Value, what).
			WithHint("use 1 to 64 characters: a-z, 0-9, dot, dash, underscore; begin and end with a letter or a digit")
	}
	return nil
}

// detailField is the detail that names the member that is wrong.
const detailField = "field"

func bad(field, format string, args ...any) *assay.Error {
	return assay.Errorf(assay.CodeInvalid, format, args...).With(detailField, field)
}

// within puts a line before an error: that of the member that it names, else that of n.
func within(n *yaml.Node, p places, err error) error {
	var e *assay.Error
	if errors.As(err, &e) {
		n = p.at(n, e.Details[detailField])
	}
	return definition.Within(n, err)
}
