// Answers for the library that Flux and Helm use: a line is a constraint, a tab and a version.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/Masterminds/semver/v3"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		asked, text, _ := strings.Cut(in.Text(), "\t")
		fmt.Fprintln(out, answer(asked, text))
	}
}

func answer(asked, text string) string {
	constraint, err := semver.NewConstraint(asked)
	if err != nil {
		return "no constraint"
	}
	version, err := semver.NewVersion(text)
	if err != nil {
		return "no version"
	}
	strict := "loose"
	if _, err := semver.StrictNewVersion(text); err == nil {
		strict = "strict"
	}
	return fmt.Sprintf("%t %s %s", constraint.Check(version), version, strict)
}
