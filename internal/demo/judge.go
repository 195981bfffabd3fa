package demo

import _ "embed" // the judge's definition

// Judge is the definition of the demo's judge, as a person would write it.
//
//go:embed judge.yaml
var Judge string

// JudgeName is the name in that definition.
const JudgeName = "demo-support"
