package assay

import (
	"fmt"
	"slices"
	"time"
)

// ofTheMachine are names that every machine reads in its own way.
var ofTheMachine = []string{"", "Local", "localtime", "posixrules", "Factory"}

// Zone is the time zone of a name of the IANA database. A name that means another zone on another machine is
// none: several servers may read it.
func Zone(name string) (*time.Location, error) {
	if slices.Contains(ofTheMachine, name) {
		return nil, fmt.Errorf("%q is no zone of the IANA database", name)
	}
	return time.LoadLocation(name)
}
