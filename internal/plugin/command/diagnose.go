package command

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/diagnosis"
)

func (a *app) diagnose() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "diagnose [CLUSTER]", Short: "Say what is wrong with a cluster and what to do, the worst first",
		Long: "Read all that you may read about a cluster, and say what is wrong and what to do: first what takes the service down, then what\n" +
			"puts data at risk, what has lost its redundancy, what will be a problem, and hints. What could not be read is named.\n" +
			"Without a name, all clusters of the namespace.\n\n" +
			"Exit code 2: something is worse than a hint.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("-o must be json, not %s", output)
			}
			all, err := a.examine(cmd.Context(), names)
			if err != nil {
				return err
			}
			return a.pronounce(all, output == "json", len(names) > 0)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json: the same findings for scripts; with a CLUSTER one object, without a list")
	return cmd
}

// examine reads one cluster, or all of the namespace.
func (a *app) examine(ctx context.Context, names []string) ([]diagnosis.Diagnosis, error) {
	k, err := a.Connect(&a.connection)
	if err != nil {
		return nil, err
	}
	clusters, err := clustersOf(ctx, k, names)
	if err != nil {
		return nil, err
	}
	all := []diagnosis.Diagnosis{}
	for _, c := range clusters {
		r := reader{Kubernetes: k, facts: diagnosis.Facts{Cluster: c}}
		r.read(ctx)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("nothing is said, because not everything was read: %w", ctx.Err())
		}
		r.facts.Now = a.Now()
		all = append(all, diagnosis.Of(r.facts))
	}
	if len(all) == 0 {
		a.note("there is no EtcdCluster in namespace %s", k.Namespace)
	}
	return all, nil
}

func (a *app) pronounce(all []diagnosis.Diagnosis, asJSON, one bool) error {
	for _, d := range all {
		if !d.Healthy {
			a.exit = Unwell
		}
	}
	if !asJSON {
		for i, d := range all {
			if i > 0 {
				a.say("")
			}
			_, _ = fmt.Fprint(a.Out, diagnosis.Text(d, a.width()))
		}
		return nil
	}
	var said any = all
	if one {
		said = all[0]
	}
	raw, err := json.MarshalIndent(said, "", "  ")
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	a.say("%s", raw)
	return nil
}

// reader reads the facts about a cluster. What cannot be read is a fact, too: not everybody may read nodes.
type reader struct {
	*Kubernetes
	facts diagnosis.Facts
}

// took notes whether a part was read.
func (r *reader) took(part diagnosis.Part, err error) bool {
	switch {
	case err == nil:
		r.facts.Read = append(r.facts.Read, part)
	case !meta.IsNoMatchError(err): // a kind that Kubernetes does not have has no objects
		r.facts.Unread = append(r.facts.Unread, string(part)+" could not be read: "+err.Error())
	}
	return err == nil
}

func (r *reader) read(ctx context.Context) {
	f, within := &r.facts, client.InNamespace(r.facts.Cluster.Namespace)
	of := client.MatchingLabels{v1beta1.LabelCluster: f.Cluster.Name}
	f.Pods = listed(ctx, r, diagnosis.Pods, &corev1.PodList{}, func(l *corev1.PodList) []corev1.Pod { return l.Items }, within, of)
	f.Claims = listed(ctx, r, diagnosis.Claims, &corev1.PersistentVolumeClaimList{},
		func(l *corev1.PersistentVolumeClaimList) []corev1.PersistentVolumeClaim { return l.Items }, within, of)
	r.readVolumes(ctx)
	f.Nodes = listed(ctx, r, diagnosis.Nodes, &corev1.NodeList{}, func(l *corev1.NodeList) []corev1.Node { return l.Items })
	f.Backups = listed(ctx, r, diagnosis.Backups, &v1beta1.EtcdBackupList{},
		func(l *v1beta1.EtcdBackupList) []v1beta1.EtcdBackup { return l.Items }, within)
	f.Stores = listed(ctx, r, diagnosis.Stores, &v1beta1.EtcdBackupStoreList{},
		func(l *v1beta1.EtcdBackupStoreList) []v1beta1.EtcdBackupStore { return l.Items }, within)
	f.Restores = listed(ctx, r, diagnosis.Restores, &v1beta1.EtcdRestoreList{},
		func(l *v1beta1.EtcdRestoreList) []v1beta1.EtcdRestore { return l.Items }, within)
	f.Policies = listed(ctx, r, diagnosis.Policies, &networkingv1.NetworkPolicyList{},
		func(l *networkingv1.NetworkPolicyList) []networkingv1.NetworkPolicy { return l.Items }, within)
	f.Budgets = listed(ctx, r, diagnosis.Budgets, &policyv1.PodDisruptionBudgetList{},
		func(l *policyv1.PodDisruptionBudgetList) []policyv1.PodDisruptionBudget { return l.Items }, within)
	f.Events = listed(ctx, r, diagnosis.Events, &corev1.EventList{}, func(l *corev1.EventList) []corev1.Event { return l.Items }, within)
	r.readOperator(ctx)
}

// listed are the objects of a part.
func listed[L client.ObjectList, T any](ctx context.Context, r *reader, part diagnosis.Part, list L, items func(L) []T,
	options ...client.ListOption,
) []T {
	if !r.took(part, r.List(ctx, list, options...)) {
		return nil
	}
	return items(list)
}

// readVolumes reads what the claims are bound to, one by one: others are nobody's business here.
func (r *reader) readVolumes(ctx context.Context) {
	for _, claim := range r.facts.Claims {
		if claim.Spec.VolumeName == "" {
			continue
		}
		var volume corev1.PersistentVolume
		err := r.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, &volume)
		if apierrors.IsNotFound(err) {
			continue // the phase of the claim says so
		}
		if err != nil {
			r.took(diagnosis.Volumes, err)
			return
		}
		r.facts.Volumes = append(r.facts.Volumes, volume)
	}
	r.took(diagnosis.Volumes, nil)
}

// readOperator reads the Deployment and the Lease of the installation that manages the cluster.
func (r *reader) readOperator(ctx context.Context) {
	f := &r.facts
	namespace, name := f.Operator()
	if namespace == "" {
		f.Unread = append(f.Unread, "the operator: status.operator of the EtcdCluster does not say where it runs")
		return
	}
	deployments := listed(ctx, r, diagnosis.Deployments, &appsv1.DeploymentList{},
		func(l *appsv1.DeploymentList) []appsv1.Deployment { return l.Items }, client.InNamespace(namespace))
	for _, d := range deployments {
		if d.Spec.Template.Labels["app.kubernetes.io/name"] == operatorName {
			f.Deployments = append(f.Deployments, d)
		}
	}
	var lease coordinationv1.Lease
	err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &lease)
	if r.took(diagnosis.Lease, client.IgnoreNotFound(err)) && err == nil {
		f.Lease = &lease
	}
}
