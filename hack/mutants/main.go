// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Mutants puts deliberate bugs into the product, one at a time, and asks whether the
// unit tests notice. The bugs are in list/*.txt; mutant.go says how they are written.
//
// It never changes a file of the product: go test reads the changed one through an
// overlay.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	only := flag.String("run", "", "try only mutants whose name matches this regular expression")
	check := flag.Bool("check", false, "only check that every mutant fits the code and compiles; run no test")
	least := flag.Float64("least", 95, "fail if fewer than this many percent are caught")
	flag.Parse()
	if err := runAll(ctx, *only, *check, *least); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func runAll(ctx context.Context, only string, check bool, least float64) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	all, err := load("hack/mutants/list")
	if err != nil {
		return err
	}
	mutants := chosen(all, wanted)
	if len(mutants) == 0 {
		return fmt.Errorf("no mutant matches %q", only)
	}
	if err := allFit(mutants); err != nil {
		return err
	}
	if err := allCompile(ctx, mutants); err != nil {
		return err
	}
	if check {
		fmt.Printf("all %d mutants fit and compile\n", len(mutants))
		return nil
	}
	lab, err := newLab()
	if err != nil {
		return err
	}
	defer lab.close()
	if err := lab.healthy(ctx, mutants); err != nil {
		return err
	}
	caught, survivors, err := tryAll(ctx, lab, mutants)
	if ctx.Err() != nil {
		return err
	}
	return errors.Join(err, judge(caught, len(mutants), survivors, least))
}

func chosen(all []mutant, wanted *regexp.Regexp) []mutant {
	var mutants []mutant
	for _, m := range all {
		if wanted.MatchString(m.name) {
			mutants = append(mutants, m)
		}
	}
	return mutants
}

// tryAll shows one line for each mutant and returns how many were noticed and which
// were not. One that cannot be tried does not keep the others from it, but is an error,
// and is not caught.
func tryAll(ctx context.Context, lab *lab, mutants []mutant) (caught int, survivors []mutant, err error) {
	var errs []error
	start := time.Now()
	for i, m := range mutants {
		found, err := lab.try(ctx, m)
		switch {
		case ctx.Err() != nil:
			return 0, nil, ctx.Err()
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: mutant %s: %w", m.at, m.name, err))
			found = "BROKEN"
		case found == "":
			survivors = append(survivors, m)
			found = "SURVIVED: " + m.breaks
		default:
			caught++
		}
		elapsed := time.Since(start).Round(time.Second)
		fmt.Printf("[%*d/%d] %6s  %-34s %s\n", digits(len(mutants)), i+1, len(mutants), elapsed, m.name, found)
	}
	return caught, survivors, errors.Join(errs...)
}

func digits(n int) int { return len(fmt.Sprint(n)) }

func judge(caught, all int, survivors []mutant, least float64) error {
	percent := 100 * float64(caught) / float64(all)
	fmt.Printf("caught %d of %d mutants (%.1f %%)\n", caught, all, percent)
	for _, m := range survivors {
		fmt.Printf("survived: %s (%s, in %s): %s\n", m.name, m.at, m.file, m.breaks)
	}
	if percent < least {
		return fmt.Errorf("%.1f %% are caught, at least %g %% should be: write the missing tests", percent, least)
	}
	return nil
}
