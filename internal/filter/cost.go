package filter

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
)

// Bounds of an expression. The cost is CEL's own measure, about one per step and per ten bytes of text.
const (
	maxLength = 4 << 10
	maxCost   = 100_000
)

// limited returns the options that bound what an evaluation costs. Counting while evaluating takes
// as long as a simple filter itself, so what is cheap on every head is not counted.
func limited(env *cel.Env, ast *cel.Ast) []cel.ProgramOption {
	worst, err := env.EstimateCost(ast, sizes{})
	if err == nil && worst.Max <= maxCost {
		return nil
	}
	return []cel.ProgramOption{cel.CostLimit(maxCost)}
}

// sizes are those of the largest head: ids and metadata are bounded where sessions come in.
type sizes struct{}

const largest = 8 << 10

func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

func (sizes) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	if len(node.Path()) == 0 {
		return nil
	}
	s := cost.RangedSizeEstimate(0, largest)
	return &s
}
