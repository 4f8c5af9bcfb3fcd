// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/adopting"
	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
)

// adoption is one that is wanted.
type adoption struct {
	named     []string
	chosen    adopting.Choices
	dry, wait bool
	limit     time.Duration
}

func (a *app) adopt() *cobra.Command {
	want := adoption{wait: true}
	cmd := &cobra.Command{
		Use: "adopt (STATEFULSET | SERVICE | ENDPOINT...)", Short: "Make an EtcdCluster of a running cluster that something else has made",
		Long: "Find a running cluster of etcd by a StatefulSet, a Service or endpoints, read it through the API server, and say whether and\n" +
			"how it becomes an EtcdCluster while its clients go on. With --dry-run nothing is changed, and the EtcdCluster is printed.\n" +
			"Without it the EtcdCluster is created, the Services, the StatefulSet and the Secrets that it names get the annotation by which\n" +
			"they agree, and its progress is shown. Ctrl-C stops waiting, not the adoption.\n\n" +
			"Exit code: 0 adopted, or with --dry-run nothing is in the way; 2 it cannot be adopted as it is; 3 not finished in time.",
		RunE: func(cmd *cobra.Command, named []string) error {
			want.named = named
			return a.adoptCluster(cmd.Context(), want)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&want.dry, "dry-run", false, "say what would happen, print the EtcdCluster, and change nothing")
	f.StringVar(&want.chosen.Name, "name", "", "of the EtcdCluster; default: SOURCE-cluster")
	f.Int32Var(&want.chosen.Size, "size", 0, "members; default: as many as there are, at least 3")
	f.StringVar(&want.chosen.Version, "version", "", "minor version of etcd that it runs; default: by its image or what it answers")
	f.StringVar(&want.chosen.StorageSize, "storage-size", "", "size of each volume; default: 8Gi")
	f.StringVar(&want.chosen.StorageClass, "storage-class", "", "class of the volumes; default: the default class")
	f.StringVar(&want.chosen.Client, "client-secret", "", "with TLS: Secret with ca.crt, tls.crt and tls.key by which the operator connects")
	f.StringVar(&want.chosen.PeerCA, "peer-authority", "", "with TLS: Secret with the authority of its peers, and the key of that")
	f.StringVar(&want.chosen.ClientCA, "client-authority", "", "with TLS: Secret with the authority of its clients, and the key of that")
	f.StringVar(&want.chosen.Password, "password-secret", "", "Secret with root's password, as SECRET/KEY; default: what its Pods name")
	f.BoolVar(&want.chosen.KeepVolumes, "keep-volumes", false, "copy no data: members take over the volumes of the StatefulSet, one at a time")
	a.waiting(cmd, &want.wait, &want.limit)
	return cmd
}

func (a *app) adoptCluster(ctx context.Context, want adoption) error {
	k, err := a.Connect(&a.connection)
	if err != nil {
		return err
	}
	s, err := findSource(ctx, k, want)
	if err != nil {
		return err
	}
	said, unread := ask(ctx, k, s)
	if want.chosen.Version == "" && len(said) > 0 {
		want.chosen.Version = adopting.Minor(said)
	}
	c, err := adopting.Cluster(k.Namespace, s, want.chosen)
	if err != nil {
		return err
	}
	var verdict adopting.Verdict
	if unread == "" {
		verdict = adopting.Judge(c, s, said, a.Now())
	}
	text := adopting.Text(c, s, verdict, unread)
	if verdict.Unreachable != "" || verdict.Unfit != "" {
		a.exit = Unwell
	}
	if want.dry || a.exit == Unwell {
		return a.showAdoption(c, text, want.dry)
	}
	a.note("%s", text)
	return a.beginAdoption(ctx, k, c, verdict, want)
}

// showAdoption prints the EtcdCluster where a person asked for that; the rest is a comment in it, so that it can be applied.
func (a *app) showAdoption(c *v1beta1.EtcdCluster, text string, dry bool) error {
	if !dry {
		a.note("%s\nnothing was changed", text)
		return nil
	}
	raw, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	for line := range strings.Lines(text) {
		a.say("%s", strings.TrimRight("# "+line, " \n"))
	}
	_, _ = a.Out.Write(raw)
	return nil
}

func findSource(ctx context.Context, k *Kubernetes, want adoption) (adopting.Source, error) {
	within := client.InNamespace(k.Namespace)
	var sets appsv1.StatefulSetList
	var services corev1.ServiceList
	var pods corev1.PodList
	var claims corev1.PersistentVolumeClaimList
	lists := []client.ObjectList{&sets, &services, &pods}
	if want.chosen.KeepVolumes {
		lists = append(lists, &claims)
	}
	for _, list := range lists {
		if err := k.List(ctx, list, within); err != nil {
			return adopting.Source{}, fmt.Errorf("list %T in namespace %s: %w", list, k.Namespace, err)
		}
	}
	all := adopting.Objects{StatefulSets: sets.Items, Services: services.Items, Pods: pods.Items, Claims: claims.Items}
	return adopting.Find(all, want.named)
}

// beginAdoption creates the EtcdCluster, and has everything agree to it that it names, if that is there and may be annotated.
func (a *app) beginAdoption(ctx context.Context, k *Kubernetes, c *v1beta1.EtcdCluster, v adopting.Verdict, want adoption) error {
	if err := agree(ctx, k, c, v.URLs, client.DryRunAll); err != nil {
		return err
	}
	if err := k.Create(ctx, c); err != nil {
		return fmt.Errorf("create EtcdCluster %s: %w", c.Name, err)
	}
	if err := agree(ctx, k, c, v.URLs); err != nil {
		return fmt.Errorf("EtcdCluster %s is created, and changes nothing before all agree to it: %w", c.Name, err)
	}
	goesOn := fmt.Sprintf("the adoption goes on: 'kubectl etcd status %s -n %s' shows it", c.Name, k.Namespace)
	if !want.wait {
		a.say("EtcdCluster %s is created; %s", c.Name, goesOn)
		return nil
	}
	a.note("EtcdCluster %s is created", c.Name)
	return a.finish(a.follow(ctx, want.limit, goesOn, func(ctx context.Context) (progressState, error) {
		if err := k.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return progressState{}, fmt.Errorf("get EtcdCluster %s: %w", c.Name, err)
		}
		return adoptionOf(c), nil
	}))
}

// kindsThatAgree are those of objects that an adoption uses.
var kindsThatAgree = map[string]schema.GroupVersionKind{
	"secret":      {Version: "v1", Kind: "Secret"},
	"service":     {Version: "v1", Kind: "Service"},
	"statefulset": {Group: "apps", Version: "v1", Kind: "StatefulSet"},
}

// agree sets the annotation by metadata alone: of a Secret nothing else is read.
func agree(ctx context.Context, k *Kubernetes, c *v1beta1.EtcdCluster, urls []string, options ...client.PatchOption) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1beta1.AnnotationAdoptedBy, c.Consent(urls...))
	for _, object := range adopting.Agreeing(c) {
		kind, name, _ := strings.Cut(object, "/")
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(kindsThatAgree[kind])
		o.SetNamespace(c.Namespace)
		o.SetName(name)
		if err := k.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)), options...); err != nil {
			if apierrors.IsNotFound(err) {
				return fmt.Errorf("%s is not there: name another one", object)
			}
			return fmt.Errorf("annotate %s: %w", object, err)
		}
	}
	return nil
}

// adoptionOf is how far it is.
func adoptionOf(c *v1beta1.EtcdCluster) progressState {
	seen := progressState{Progress: progress.Progress{What: "adoption by " + c.Name, Message: "no operator has looked at it yet"}}
	is := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionAdopted)
	if is == nil {
		return seen
	}
	seen.Message = is.Message
	switch {
	case is.Status == metav1.ConditionTrue:
		seen.ended, seen.result = true, fmt.Sprintf("EtcdCluster %s has taken over: %s", c.Name, is.Message)
	case is.Reason == v1beta1.ReasonSourceUnfit && !strings.Contains(is.Message, v1beta1.AnnotationAdoptedBy): // which was just written
		seen.ended, seen.problem = true, is.Message+"; nothing was changed. The adoption begins when that is put right, or delete the EtcdCluster"
	}
	return seen
}
