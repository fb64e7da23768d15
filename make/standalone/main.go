// Unpacks the python-build-standalone that the module go-embed-python carries into a folder.
// Usage: go run -modfile=VERSION.mod . FOLDER
package main

import (
	"fmt"
	"os"

	"github.com/kluctl/go-embed-python/python"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run -modfile=VERSION.mod . FOLDER")
		os.Exit(2)
	}
	if _, err := python.NewEmbeddedPythonWithTmpDir(os.Args[1], false); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
