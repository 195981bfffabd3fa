package stats

import (
	_ "assay/cmd/assay"
	_ "assay/internal/assay"
	_ "math"
)
