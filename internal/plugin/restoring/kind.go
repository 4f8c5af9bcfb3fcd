// Package restoring says what kubectl etcd asks for when it restores, and how it tells what the operator answers.
//
// It must never ask anybody: what it says follows from objects and from what the user chose.
package restoring

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// Kind is the one of restores in place. This file is all that knows its fields: an operator without it is told apart by the API server.
const Kind = "EtcdRestore"

// Condition types of an EtcdRestore, and the reasons that end a wait.
const (
	// ConditionPreviewed: status.preview says what the restore would do.
	ConditionPreviewed = "Previewed"
	// ConditionComplete: the cluster serves the data of the backup.
	ConditionComplete = "Complete"
	// ReasonUnconfirmed: spec.confirm is not what the preview says.
	ReasonUnconfirmed = "Unconfirmed"
	// ReasonReplaced: another restore has begun since, and this one can no longer be undone.
	ReasonReplaced = "Replaced"
)

// How far a restore is.
const (
	PhasePending   = "Pending"
	PhasePreviewed = "Previewed"
	PhaseBackingUp = "BackingUp"
	PhaseRestoring = "Restoring"
	PhaseComplete  = "Complete"
	PhaseUndoing   = "Undoing"
	PhaseUndone    = "Undone"
)

// longestName is how long the generated part of a name may be: the safety backup has it, too.
const longestName = 50

// Restore is an EtcdRestore.
type Restore struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitzero"`
}

// Spec is what is asked for: backup, or store and from.
type Spec struct {
	Cluster          string                    `json:"cluster"`
	Backup           string                    `json:"backup,omitempty"`
	Store            string                    `json:"store,omitempty"`
	From             *From                     `json:"from,omitempty"`
	Confirm          string                    `json:"confirm,omitempty"`
	SkipSafetyBackup bool                      `json:"skipSafetyBackup,omitempty"`
	Decryption       *v1alpha1.SecretReference `json:"decryption,omitempty"`
	Undo             bool                      `json:"undo,omitempty"`
	KeepFor          *metav1.Duration          `json:"keepFor,omitempty"`
}

// From is which backup of a store.
type From struct {
	Cluster string `json:"cluster,omitempty"`
	At      string `json:"at,omitempty"`
}

// Status is what the operator says of it.
type Status struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	Phase      string             `json:"phase,omitempty"`
	Message    string             `json:"message,omitempty"`
	Preview    *Preview           `json:"preview,omitempty"`
	UndoUntil  *metav1.Time       `json:"undoUntil,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Preview is what a restore would do.
type Preview struct {
	Backup        string           `json:"backup,omitempty"`
	Revision      int64            `json:"revision,omitempty"`
	Time          *metav1.Time     `json:"time,omitempty"`
	Keys          *int64           `json:"keys,omitempty"`
	LostRevisions *int64           `json:"lostRevisions,omitempty"`
	LastDrill     *metav1.Duration `json:"lastDrill,omitempty"`
	Confirm       string           `json:"confirm,omitempty"`
}

// New is an EtcdRestore that asks for a preview, and for nothing else yet.
func New(namespace string, spec Spec) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return nil, fmt.Errorf("write the %s: %w", Kind, err)
	}
	object := Empty()
	object.SetNamespace(namespace)
	object.SetGenerateName(spec.Cluster[:min(len(spec.Cluster), longestName)] + "-")
	object.Object["spec"] = fields
	return object, nil
}

// Empty is an EtcdRestore to read into.
func Empty() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(Kind))
	return object
}

// List is a list of EtcdRestores to read into.
func List() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(Kind + "List"))
	return list
}

// Read is an EtcdRestore that was read.
func Read(object *unstructured.Unstructured) (*Restore, error) {
	r := &Restore{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, r); err != nil {
		return nil, fmt.Errorf("understand %s %s: %w", Kind, object.GetName(), err)
	}
	return r, nil
}

// Confirmation is the patch that lets a restore begin.
func Confirmation(value string) map[string]any {
	return map[string]any{"spec": map[string]any{"confirm": value}}
}

// Undo is the patch that brings the data back that was there before.
func Undo() map[string]any { return map[string]any{"spec": map[string]any{"undo": true}} }
