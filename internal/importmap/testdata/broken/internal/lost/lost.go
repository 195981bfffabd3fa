package lost

import _ "assay/internal/assay"
