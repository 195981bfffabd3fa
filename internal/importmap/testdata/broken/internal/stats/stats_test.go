package stats

import _ "assay/internal/judge"
