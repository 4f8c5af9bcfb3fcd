// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2/types"
)

// spec is one of a container, which the suite has at a line.
func spec(container string, line int, text string, state types.SpecState) types.SpecReport {
	at := func(line int) types.CodeLocation {
		return types.CodeLocation{FileName: "/x/suite_test.go", LineNumber: line}
	}
	s := types.SpecReport{
		ContainerHierarchyTexts: []string{"etcd-operator", container}, ContainerHierarchyLocations: []types.CodeLocation{at(33), at(line)},
		LeafNodeType: types.NodeTypeIt, LeafNodeText: text, State: state,
	}
	if s.Failed() {
		s.Failure = types.Failure{Message: "Timed out\n  after 1s", Location: types.CodeLocation{FileName: "/x/backup_test.go", LineNumber: 7}}
	}
	return s
}

func report(specs ...types.SpecReport) []types.Report { return []types.Report{{SpecReports: specs}} }

func TestContainersOfFailedSpecsAreFoundByTheirLine(t *testing.T) {
	got := failedContainers(report(
		spec("backups", 44, "are written", types.SpecStateFailed), spec("backups", 44, "are shown", types.SpecStateTimedout),
		spec("backups of others", 50, "are listed", types.SpecStatePassed), spec("drills", 61, "kill", types.SpecStatePanicked),
		types.SpecReport{LeafNodeType: types.NodeTypeSynchronizedBeforeSuite, State: types.SpecStateFailed}, // of no container
	))
	want := []container{{"backups", "suite_test.go:44"}, {"drills", "suite_test.go:61"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestARunThatFailedAsAWholeIsNotLookedAtAgain(t *testing.T) {
	failed := spec("backups", 44, "are written", types.SpecStateFailed)
	if got := brokenBy(report(failed)); got != "" {
		t.Errorf("one spec failed, and the run is said to be broken by %s", got)
	}
	late := report(failed)
	late[0].SpecialSuiteFailureReasons = []string{"Suite Timeout Elapsed"}
	uncleared := types.SpecReport{LeafNodeType: types.NodeTypeSynchronizedAfterSuite, State: types.SpecStateFailed}
	for want, reports := range map[string][]types.Report{"Suite Timeout Elapsed": late, "SynchronizedAfterSuite": report(failed, uncleared)} {
		if got := brokenBy(reports); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestASecondLookSaysWhatFlakedAndWhatIsRedAgain(t *testing.T) {
	first := report(spec("a", 1, "x", types.SpecStateFailed), spec("a", 1, "y", types.SpecStateFailed),
		spec("b", 2, "z", types.SpecStateFailed), spec("c", 3, "fine", types.SpecStatePassed))
	second := report(spec("a", 1, "x", types.SpecStatePassed), spec("a", 1, "y", types.SpecStateFailed)) // z has not run at all
	want := []string{
		"FLAKED: etcd-operator a x, Timed out after 1s (backup_test.go:7)",
		"RED AGAIN: etcd-operator a y, Timed out after 1s (backup_test.go:7)",
		"RED AGAIN: etcd-operator b z, Timed out after 1s (backup_test.go:7)",
	}
	if got := lookedAgain(first, second); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestSkippedSpecsDoNotCountAsRun(t *testing.T) {
	reports := report(spec("a", 1, "x", types.SpecStateSkipped), spec("a", 1, "y", types.SpecStatePassed),
		spec("a", 1, "z", types.SpecStatePending))
	if got := ranIn(reports); got != 1 {
		t.Errorf("%d specs ran, want 1", got)
	}
	if got := slowestOf(reports); !strings.Contains(got, "slowest of 1 specs") || !strings.Contains(got, "etcd-operator a y") {
		t.Errorf("got %s", got)
	}
}

func TestAStageTellsWhyItFailed(t *testing.T) {
	log := `ok  	example.com/a	1.1s
--- FAIL: TestReconnects (19.03s)
    real_test.go:42: waited 15s for m1 to serve
=== RUN   TestOther
  [FAIL] etcd-operator backups [It] are written by a follower
  [FAIL] etcd-operator backups [It] are written by a follower
FAIL  tidy: run 'go mod tidy' in the modules named above
test/e2e/a.go:7:2: undefined: x (typecheck)
FAIL	example.com/b	34.3s
make[1]: *** [Makefile:107: test-unit] Error 1
`
	want := []string{
		"--- FAIL: TestReconnects (19.03s): real_test.go:42: waited 15s for m1 to serve",
		"[FAIL] etcd-operator backups [It] are written by a follower",
		"FAIL  tidy: run 'go mod tidy' in the modules named above",
		"test/e2e/a.go:7:2: undefined: x (typecheck)",
		"make[1]: *** [Makefile:107: test-unit] Error 1",
	}
	if got := linesIn(log, says, explained); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheSummaryHasEveryStageAndEveryReason(t *testing.T) {
	stages := parseStages([]string{"lint", "cluster-up!"})
	if stages[0].vital || !stages[1].vital || stages[1].target != "cluster-up" {
		t.Fatalf("got %+v", stages)
	}
	stages[0].took, stages[1].took = 90*time.Second, time.Minute
	stages[0].flaked = []string{"FLAKED: a, b"}
	stages[1].failed, stages[1].reasons = true, []string{"etcd does not answer"}
	want := "\n##### stages\nok       1.5 min  lint\nFAILED   1.0 min  cluster-up\nlint: FLAKED: a, b\ncluster-up: etcd does not answer\n"
	if got := summary(stages, nil); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheSummaryNamesWhatNobodyHasLookedAt(t *testing.T) {
	log := `NOT CHECKED  Dockerfile: it takes root and Buildah to see
NOT TESTED: helm-test-short, since no run of helm-test was green yet (docs/test-runs.md)
verify: what was checked is ok; NOT CHECKED: Dockerfile;
--- SKIP: TestEndToEnd (0.00s)
    suite_test.go:14: KUBECONFIG names no cluster: make test-e2e
` + "\x1b[38;5;14mS [SKIPPED] [0.001 seconds]\x1b[0m" + `
etcd-operator nodes [BeforeAll] survive
ok  	example.com/a	1.1s
`
	s := stage{target: "verify", omitted: linesIn(log, omits, skipped)}
	want := "\n##### stages\nok       0.0 min  verify\nNOT RUN           olm-test\n" +
		"verify: NOT CHECKED  Dockerfile: it takes root and Buildah to see\n" +
		"verify: NOT TESTED: helm-test-short, since no run of helm-test was green yet (docs/test-runs.md)\n" +
		"verify: --- SKIP: TestEndToEnd (0.00s): suite_test.go:14: KUBECONFIG names no cluster: make test-e2e\n" +
		"verify: S [SKIPPED] [0.001 seconds]: etcd-operator nodes [BeforeAll] survive\n"
	if got := summary([]stage{s}, []stage{{target: "olm-test"}}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	many := ""
	for i := range mostLines + 5 {
		many += fmt.Sprintf("NOT TESTED: %d\n", i)
	}
	if got := linesIn(many, omits, skipped); len(got) != mostLines+1 || !strings.Contains(got[mostLines], "more") {
		t.Errorf("of %d lines it says %q", mostLines+5, got)
	}
}
