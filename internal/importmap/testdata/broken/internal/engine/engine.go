package engine

import (
	_ "assay/internal/assay"
	_ "assay/internal/engine/local"
	_ "assay/internal/judge"
	_ "assay/internal/node"
	_ "assay/internal/store"
	_ "assay/internal/store/storetest"
)
