package main

import "runtime"

type versionCmd struct{}

func (versionCmd) Help() string { return "Example:\n\n    assay version" }

func (c *versionCmd) Run(a *app) error {
	if a.JSON {
		return a.printJSON(map[string]string{"version": version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
	}
	a.print("assay %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
