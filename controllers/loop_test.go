// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// pauses are how long after each step that succeeded the next look comes at the
// latest. A watch reports most sooner, but none that has changed nothing.
var pauses = []struct {
	step        plan.Step
	least, most time.Duration
}{
	{plan.Record{}, memory.Later, memory.Later * 3 / 2},
	{plan.Apply{}, memory.Later, memory.Later * 3 / 2},
	{plan.MarkPods{As: plan.Existing}, memory.Later, memory.Later * 3 / 2},
	{plan.CreatePods{}, memory.Later, memory.Later * 3 / 2},
	{plan.DeletePods{}, memory.Later, memory.Later * 3 / 2},
	{plan.DeletePods{How: plan.Detached}, memory.Later, memory.Later * 3 / 2},
	{plan.DeletePods{How: plan.AtOnce}, memory.Later, memory.Later * 3 / 2},
	{plan.AddLearner{}, memory.Again, memory.Again},
	{plan.Promote{}, memory.Again, memory.Again},
	{plan.UpdatePeerURLs{}, memory.Again, memory.Again},
	{plan.MoveLeader{}, memory.Again, memory.Again},
	{plan.RemoveMember{}, memory.Again, memory.Again},
	{plan.Quarantine{}, memory.Later, memory.Later * 3 / 2},
	{plan.LiftQuarantine{}, memory.Later, memory.Later * 3 / 2},
	{plan.CreateBackup{}, memory.Later, memory.Later * 3 / 2},
	{plan.CreateRestore{}, memory.Later, memory.Later * 3 / 2},
	{plan.Expire{}, memory.Later, memory.Later * 3 / 2},
	{plan.Hold{}, memory.Later, memory.Later * 3 / 2},
	{plan.MarkPods{}, memory.Later, memory.Later * 3 / 2},
	{plan.MarkPods{As: plan.Attach}, memory.Later, memory.Later * 3 / 2},
	{plan.UpdateImage{}, memory.Later, memory.Later * 3 / 2},
	{plan.ResizePod{}, memory.Later, memory.Later * 3 / 2},
	{plan.DeleteVolume{}, memory.Later, memory.Later * 3 / 2},
	{plan.Downgrade{}, memory.Again, memory.Again},
	{plan.Compact{}, memory.Soon, memory.Soon},
	{plan.RouteService{}, memory.Soon, memory.Soon},
	{plan.ScaleStatefulSet{}, memory.Soon, memory.Soon},
	{plan.AdoptVolume{}, memory.Soon, memory.Soon},
	{plan.DisarmAlarm{}, memory.Again, memory.Again},
	{plan.CreatePods{Forced: true}, memory.Later, memory.Later * 3 / 2},
	{plan.Wait{Look: plan.Soon}, memory.Soon, memory.Soon},
	{plan.Wait{Look: plan.Later}, memory.Later, memory.Later * 3 / 2},
	{plan.Refuse{}, memory.Later, memory.Later * 3 / 2},
	{plan.Done{}, memory.Idle, memory.Idle * 3 / 2},
}

// once is a look that ended otherwise than the one before.
var once = memory.Repeats{Times: 1}

// resultOf is when a cluster is looked at again after that step, which has ended so.
func resultOf(step plan.Step, e memory.Ending, row memory.Repeats) (ctrl.Result, error) {
	return requeue(pauseAfter(step, e, row), failureOf(e))
}

// TestPauseAfterEachStep: a step in etcd is looked after at once, because no watch
// reports it.
func TestPauseAfterEachStep(t *testing.T) {
	for _, test := range pauses {
		for range 100 {
			got, err := resultOf(test.step, memory.Ending{}, once)
			if err != nil || got.RequeueAfter < test.least || got.RequeueAfter > test.most {
				t.Fatalf("%T: %s, %v; want %s to %s", test.step, got.RequeueAfter, err, test.least, test.most)
			}
		}
	}
}

// TestPauseAfterErrors: what is routine is looked at again soon and is no error;
// everything else backs off.
func TestPauseAfterErrors(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "a-1", errors.New("it has changed"))
	failed := errors.New("no route to host")
	for _, test := range []struct {
		err     error
		routine bool
	}{
		{act.ErrChanged, true},
		{fmt.Errorf("remove member a-1: %w", act.ErrStale), true},
		{conflict, true},
		{errors.Join(fmt.Errorf("write status: %w", conflict)), true},
		{failed, false},
		{apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a-1", failed), false},
		{apierrors.NewTooManyRequests("later", 1), false},
		{fmt.Errorf("read linearizably: %w", etcd.ErrLearner), false},
	} {
		for _, step := range pauses {
			got, err := resultOf(step.step, classifyError(step.step, test.err), once)
			if test.routine && (err != nil || got.RequeueAfter != memory.Soon) {
				t.Errorf("%T, %v: %s, %v; want %s and no error", step.step, test.err, got.RequeueAfter, err, memory.Soon)
			}
			if !test.routine && (!errors.Is(err, test.err) || got.RequeueAfter != 0) {
				t.Errorf("%T, %v: %s, %v; want the error", step.step, test.err, got.RequeueAfter, err)
			}
		}
	}
}

// TestEtcdRefusesForNow: that is no error but a wait, which users can read.
func TestEtcdRefusesForNow(t *testing.T) {
	refusal := fmt.Errorf("promote a-3: %w: the learner is not in sync", etcd.ErrNotReady)
	promote := plan.Promote{Name: "a-3"}
	step, e := waited(promote, classifyError(promote, refusal))
	if e.Err != nil || step.String() != "wait for etcd to be ready to promote a-3" {
		t.Errorf("%s, %v", step, e)
	}
	if got, _ := resultOf(step, e, once); got.RequeueAfter != memory.Soon {
		t.Errorf("tried again after %s", got.RequeueAfter)
	}
	failed := errors.New("no route to host")
	if step, e := waited(promote, classifyError(promote, failed)); !errors.Is(e.Err, failed) || step != promote {
		t.Errorf("another error is kept: %s, %v", step, e)
	}
}

// TestLeaderEndsBeforeItHandsOver: nothing is wrong, and what to do is seen soon. Any
// other step that fails so is reported.
func TestLeaderEndsBeforeItHandsOver(t *testing.T) {
	move := plan.MoveLeader{From: "a-0", To: "a-1"}
	for _, gone := range []error{
		status.Error(codes.Unavailable, "connect: connection refused"), rpctypes.ErrNotLeader, rpctypes.ErrStopped, context.DeadlineExceeded,
	} {
		gone = fmt.Errorf("move leader to a-1: %w", gone)
		step, e := waited(move, classifyError(move, gone))
		if e.Err != nil || step.String() != "wait for leadership to leave a-0" {
			t.Errorf("%v: %s, %v", gone, step, e)
		}
		if got, _ := resultOf(step, e, once); got.RequeueAfter != memory.Soon {
			t.Errorf("%v: looked again after %s", gone, got.RequeueAfter)
		}
		remove := plan.RemoveMember{Name: "a-0"}
		if step, e := waited(remove, classifyError(remove, gone)); !errors.Is(e.Err, gone) || step != remove {
			t.Errorf("another step: %s, %v", step, e)
		}
	}
	for _, wrong := range []error{rpctypes.ErrPermissionDenied, errors.New("read the lease: forbidden"), act.ErrChanged} {
		if step, e := waited(move, classifyError(move, wrong)); !errors.Is(e.Err, wrong) || step != move {
			t.Errorf("%v: %s, %v", wrong, step, e)
		}
	}
}

// TestPausesCoverEveryStep: a step that is added to the plan must be added to the
// table above.
func TestPausesCoverEveryStep(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../internal/cluster/plan/step.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	for _, test := range pauses {
		covered[strings.TrimPrefix(fmt.Sprintf("%T", test.step), "plan.")] = true
	}
	steps := 0
	for _, declaration := range file.Decls {
		if method, ok := declaration.(*ast.FuncDecl); ok && method.Recv != nil && method.Name.Name == "meta" {
			steps++
			if kind := method.Recv.List[0].Type.(*ast.Ident).Name; !covered[kind] {
				t.Errorf("no pause is given for %s", kind)
			}
		}
	}
	if steps != len(covered) {
		t.Errorf("the plan has %d steps, the table %d", steps, len(covered))
	}
}

// TestLogsTellOfStepsThatAreTaken: and only verbose ones of rest.
func TestLogsTellOfStepsThatAreTaken(t *testing.T) {
	for _, test := range pauses {
		if got := verbosity(test.step); (got > 0) != plan.Rests(test.step) {
			t.Errorf("%T: verbosity %d", test.step, got)
		}
	}
}

// TestRecheck: what is reported to Operator Lifecycle Manager is looked at again when it may be
// another thing, and now and then in any case.
func TestRecheck(t *testing.T) {
	for _, test := range []struct {
		until       time.Time
		least, most time.Duration
	}{
		{time.Time{}, rare, 2 * rare},
		{noon.Add(time.Hour), rare, 2 * rare},
		{noon.Add(time.Minute), time.Minute, time.Minute},
		{noon.Add(-time.Minute), memory.Soon, memory.Soon},
	} {
		if got := recheck(test.until, noon); got < test.least || got > test.most {
			t.Errorf("until %s: %s", test.until, got)
		}
	}
}

// TestDenials: what Kubernetes refuses, and not what it had no time for.
func TestDenials(t *testing.T) {
	claims := schema.GroupResource{Resource: "persistentvolumeclaims"}
	forbidden := fmt.Errorf("change volume a-1: %w", apierrors.NewForbidden(claims, "a-1", errors.New("a webhook says no")))
	for what, test := range map[string]struct {
		err    error
		denied bool
	}{
		"refused":           {forbidden, true},
		"with others":       {errors.Join(errors.New("x"), forbidden), true},
		"invalid":           {apierrors.NewInvalid(schema.GroupKind{}, "a-1", nil), true},
		"taken":             {fmt.Errorf("create a: a Service of that name %w", act.ErrTaken), true},
		"bad":               {apierrors.NewBadRequest("no"), true},
		"a webhook is down": {apierrors.NewInternalError(errors.New("failed calling webhook")), true},
		"nothing is wrong":  {nil, false},
		"nobody answers":    {errors.New("no route to host"), false},
		"it was faster":     {apierrors.NewConflict(claims, "a-1", errors.New("changed")), false},
		"too much":          {apierrors.NewTooManyRequests("later", 1), false},
	} {
		if e := classifyError(plan.Done{}, test.err); (e.Denied != "") != test.denied {
			t.Errorf("%s: denied %q", what, e.Denied)
		}
	}
	if e := classifyError(plan.Done{}, forbidden); !strings.Contains(e.Denied, "a webhook says no") || strings.Contains(e.Denied,
		"change volume") {
		t.Errorf("the words are %q", e.Denied)
	}
}

// TestRefusedAndOutdated: a refusal whose report lost against another write is looked at again soon, and reported then.
func TestRefusedAndOutdated(t *testing.T) {
	resource := schema.GroupResource{Resource: "etcdbackups"}
	refused := apierrors.NewForbidden(resource, "a", errors.New("the quota is used up"))
	conflict := apierrors.NewConflict(resource, "a", errors.New("it has changed"))
	for _, test := range []struct {
		err  error
		want time.Duration
	}{{refused, retryRefused}, {errors.Join(conflict, refused), lookAgain}, {conflict, lookAgain}} {
		if got, err := requeue(time.Hour, unlessRefused(test.err)); err != nil || got.RequeueAfter != test.want {
			t.Errorf("%v: %s, %v; want %s", test.err, got.RequeueAfter, err, test.want)
		}
	}
}
