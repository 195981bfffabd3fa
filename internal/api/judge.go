package api

import (
	"assay/internal/assay"
	"assay/internal/store"
)

// JudgeSource is a definition to be applied.
type JudgeSource struct {
	Source string `json:"source" doc:"the definition, as YAML text"`
}

// JudgeView is a name with the version that it means now.
type JudgeView struct {
	assay.Judge
	Source     string              `json:"source" doc:"the definition as it was applied"`
	Definition assay.JudgeVersion  `json:"definition"`
	History    []store.JudgeChange `json:"history" nullable:"false" doc:"versions that the name has meant, newest first"`
	Changed    *bool               `json:"changed,omitempty" doc:"in the answer to apply: whether the version changed"`
}
