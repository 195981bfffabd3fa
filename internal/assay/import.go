package assay

// ImportOptions say how a file is read. Format "" means that it is detected.
type ImportOptions struct {
	File   string // its name, for people and rejects
	Format string
	By     string
	Strict bool   // nothing is stored unless every session in the file can be read
	Spool  string // folder for temporary files, with room for the file itself; "" is the system's
}
