package main

import _ "assay/internal/judge"

func main() {}
