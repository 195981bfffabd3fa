package storetest

import _ "assay/internal/store"
