package define

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/definition"
	"assay/internal/process"
)

const (
	maxSecret    = 64 << 10
	secretLimit  = 10 * time.Second
	commandGrace = time.Second
)

// readSecret reads a secret where its definition says. No error holds what was read.
func readSecret(ctx context.Context, s assay.SecretEnv, dir string, lookup func(string) (string, bool)) (text string, err error) {
	bad := func(format string, args ...any) *assay.Error {
		e := assay.Errorf(assay.CodeInvalid, format, args...)
		e.Message = "secret " + s.Name + ": " + e.Message
		return e.WithHint("the suite cannot be started without it; see `env: {secrets: …}` of its definition")
	}
	switch {
	case s.Env != "":
		set := false
		if lookup != nil {
			text, set = lookup(s.Env)
		}
		if !set || text == "" {
			return "", bad("the variable %s is not set or empty in the environment of the process that drives runs, such as `assay serve`", s.Env).WithHint("set it where the server runs, and start the server again")
		}
	case s.File != "":
		if text, err = readSecretFile(s.File); err != nil {
			return "", bad("%w", err)
		}
	default:
		if text, err = printedSecret(ctx, s.Command, dir, lookup); err != nil {
			return "", bad("%w", err)
		}
	}
	switch {
	case len(text) > maxSecret:
		return "", bad("it is longer than %d bytes", maxSecret)
	case strings.ContainsRune(text, 0):
		return "", bad("it holds a NUL, which no variable can")
	case len(text) < leastSecret:
		return "", bad("it is shorter than %d bytes, and could not be masked without masking everything", leastSecret)
	}
	return text, nil
}

// readSecretFile opens nothing that could make it wait, such as a pipe.
func readSecretFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return "", errors.New("the file " + path + " is not a regular file")
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return "", errors.New("the file " + path + " cannot be read: " + err.Error())
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+2))
	if err != nil {
		return "", errors.New("the file " + path + " cannot be read")
	}
	return withoutEnd(string(text)), nil
}

func withoutEnd(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r") }

// printedSecret runs a program that prints a secret. What it writes to standard error is not shown: that
// may hold what should stay where it is.
func printedSecret(ctx context.Context, argv []string, dir string, lookup func(string) (string, bool)) (string, error) {
	env := definition.SecretEnv(lookup)
	if len(argv) == 0 {
		return "", errors.New("no place is named where it is found")
	}
	program, err := process.Find(argv[0], dir, env)
	if err != nil {
		return "", err
	}
	result, err := process.Run(ctx, process.Spec{Argv: append([]string{program}, argv[1:]...), Dir: dir, Env: env,
		MaxStdout: maxSecret + 2, Limit: secretLimit, Grace: commandGrace})
	switch {
	case err != nil:
		return "", err
	case result.End == process.EndLimit:
		return "", errors.New("its command did not end within " + secretLimit.String())
	case result.End == process.EndCancel:
		return "", context.Cause(ctx)
	case result.Signal != 0:
		return "", errors.New("its command was ended by the signal " + result.Signal.String())
	case result.Code != 0:
		return "", errors.New("its command failed; run it by hand to see why")
	}
	return withoutEnd(string(result.Stdout)), nil
}
