// Asks the libraries of Flux and kustomize: one JSON question a line on standard input, one JSON answer a line on standard output.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

type answer struct {
	Value any    `json:"value"`
	Error string `json:"error"`
}

var verbs = map[string]func(json.RawMessage) (any, error){
	"cel":       evaluate,
	"envsubst":  substitute,
	"kustomize": kustomizeBuild,
	"normalise": normalise,
	"render":    render,
}

func main() {
	ask, known := verbs[os.Args[1]]
	if !known {
		fmt.Fprintln(os.Stderr, "unknown verb", os.Args[1])
		os.Exit(2)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for lines.Scan() {
		if err := out.Encode(asked(ask, lines.Bytes())); err != nil {
			panic(err)
		}
	}
}

func asked(ask func(json.RawMessage) (any, error), question []byte) (told answer) {
	defer func() {
		if problem := recover(); problem != nil {
			told = answer{Error: fmt.Sprint("panic: ", problem)}
		}
	}()
	value, err := ask(question)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Value: value}
}
