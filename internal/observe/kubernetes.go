package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// kubernetes reads the Pods and volumes that carry the cluster's label.
func (o *Observer) kubernetes(ctx context.Context, c *v1alpha1.EtcdCluster, v *cluster.View, members *join) error {
	from, ours := o.Cache, []client.ListOption{client.InNamespace(c.Namespace), client.MatchingLabels(build.MemberSelector(c))}
	if isBeginning(v) {
		from = o.Live
	}
	var pods corev1.PodList
	if err := from.List(ctx, &pods, ours...); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	for i := range pods.Items {
		o.pod(c, v, members, &pods.Items[i])
	}
	if isBeginning(v) && !v.Want.Ephemeral {
		ours = ours[:1] // also those that lost our labels, or never had any
	}
	var claims corev1.PersistentVolumeClaimList
	if err := from.List(ctx, &claims, ours...); err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	for i := range claims.Items {
		o.volume(c, v, members, &claims.Items[i])
	}
	slices.SortFunc(v.Volumes, func(a, b cluster.Volume) int {
		return cluster.Serial(c.Name, a.Name) - cluster.Serial(c.Name, b.Name)
	})
	byName := func(a, b cluster.Object) int { return strings.Compare(a.String(), b.String()) }
	slices.SortFunc(v.Misfits, byName)
	slices.SortFunc(v.Refused, byName)
	slices.SortFunc(v.Foreign, byName)
	slices.SortFunc(v.Expired, byName)
	return nil
}

// isBeginning says whether the first members may be decided on now: what a cache does not
// show yet would count as never having been.
func isBeginning(v *cluster.View) bool {
	if v.Formed() || v.Want.Size == 0 || v.Want.Paused != "" {
		return false
	}
	return !v.Planned() || v.Want.Size < len(v.Record.First)
}

func (o *Observer) pod(c *v1alpha1.EtcdCluster, v *cluster.View, members *join, pod *corev1.Pod) {
	if cluster.Serial(c.Name, pod.Name) < 0 {
		return // a copy with our labels is in nobody's place
	}
	if foreign, why := foreignTo(c, pod); why != "" {
		foreign.Kind = "Pod"
		v.Foreign = append(v.Foreign, foreign)
		return
	}
	m := members.member(pod.Name)
	members.pods[pod.Name] = pod
	m.Pod = podFacts(pod)
	m.Pod.Overdue = o.isOverdue(pod)
	m.Pod.ClientsGone = m.Pod.Detached && o.isQuiet(pod)
	m.Pod.Shaky = o.isShaky(pod)
	m.Pod.LabelsMissing = lacksLabels(c, pod) || build.IsAbandoned(c, pod)
	m.Damage, members.emptied[pod.Name] = damage(pod)
	if v.Want.Ephemeral {
		m.Volume = dataOf(m.Pod)
	}
	if run := build.EtcdStatus(pod).State.Running; run != nil && o.isRecent(run.StartedAt.Time, freshFor) {
		v.Fresh = true
	}
}

// lacksLabels says whether an object of the cluster lacks the labels by which it is found.
func lacksLabels(c *v1alpha1.EtcdCluster, object metav1.Object) bool {
	return !labels.SelectorFromSet(build.MemberSelector(c)).Matches(labels.Set(object.GetLabels()))
}

// dataOf says where ephemeral data stands: it lives in a Pod that may still run.
func dataOf(pod cluster.Pod) cluster.VolumeState {
	if pod.Exists && !pod.Finished {
		return cluster.Kept
	}
	return cluster.NoVolume
}

// foreignTo says whether an object in our place belongs to somebody else, and if
// so why. One of an earlier EtcdCluster of this name is on its way out; one of the cluster
// that nobody owns is adopted.
func foreignTo(c *v1alpha1.EtcdCluster, object metav1.Object) (cluster.Object, string) {
	foreign := cluster.Object{Name: object.GetName()}
	owner := metav1.GetControllerOf(object)
	switch {
	case build.IsAbandoned(c, object):
		return foreign, ""
	case owner == nil:
		foreign.Why = "no EtcdCluster owns it"
	case owner.UID == c.UID:
		return foreign, ""
	default:
		foreign.Why = fmt.Sprintf("it belongs to %s %s", owner.Kind, owner.Name)
		foreign.Gone = owner.Kind == "EtcdCluster" && owner.Name == c.Name
	}
	foreign.Gone = foreign.Gone || object.GetDeletionTimestamp() != nil
	return foreign, foreign.Why
}

func podFacts(pod *corev1.Pod) cluster.Pod {
	etcd := build.EtcdStatus(pod)
	return cluster.Pod{
		Exists: true, UID: string(pod.UID), Made: pod.CreationTimestamp.Unix(), Address: pod.Status.PodIP,
		Terminating: pod.DeletionTimestamp != nil,
		Finished:    isOver(pod),
		Unplaced:    pod.Spec.NodeName == "",
		Ended:       hasEnded(pod),
		Ready:       hasCondition(pod, corev1.PodReady, corev1.ConditionTrue) != nil,
		Proven:      isProven(pod),
		Forced:      pod.Annotations[v1alpha1.AnnotationForced] != "",
		Failing:     failing(pod),
		Resizing:    resizing(pod),
		Trouble:     trouble(pod),
		Image:       build.Etcd(pod).Image,
		Detached:    pod.Labels[build.ComponentLabel] != build.Serving,
		Lingers:     build.Lingers(pod),
		Running:     etcd.State.Running != nil,
		Settling:    isReplaced(pod, etcd),
		Entry:       build.Entry(pod),
	}
}

// overdueAfter is how long a Pod may take to end before it counts as overdue, however short
// its own grace period is: a busy kubelet needs longer than its container. It is the default
// of Kubernetes for that period.
const overdueAfter = 30 * time.Second

func (o *Observer) isOverdue(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	granted := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
	return o.come().After(pod.DeletionTimestamp.Add(max(0, overdueAfter-granted)))
}

// clientsLeave is how long it takes until no client is sent to a Pod any more that has
// left a Service: kube-proxy gathers changes for a second before it applies them
// (minSyncPeriod, https://kubernetes.io/docs/reference/networking/virtual-ips/). A Pod that
// lingers does so for as long (build.Lingers).
const clientsLeave = time.Second

func (o *Observer) isQuiet(pod *corev1.Pod) bool {
	since, err := time.Parse(time.RFC3339Nano, pod.Annotations[v1alpha1.AnnotationDetachedAt])
	return err != nil || !o.isRecent(since, clientsLeave)
}

// isReplaced says whether the container is still the one from before an exchange of
// the image.
func isReplaced(pod *corev1.Pod, status corev1.ContainerStatus) bool {
	replaced := pod.Annotations[v1alpha1.AnnotationReplaced]
	return replaced != "" && replaced == status.ContainerID && status.State.Running != nil
}

// isProven says whether a Pod is ready or has been before. One that never was is so since
// the kubelet took it on; the kubelet notes when it last became ready or ceased to be.
func isProven(pod *corev1.Pod) bool {
	if hasCondition(pod, corev1.PodReady, corev1.ConditionTrue) != nil {
		return true
	}
	unready, began := hasCondition(pod, corev1.PodReady, corev1.ConditionFalse), pod.Status.StartTime
	return unready != nil && began != nil && unready.LastTransitionTime.Sub(began.Time) > takenOn
}

// takenOn is within how long after a Pod's start the kubelet writes its first status.
const takenOn = 10 * time.Second

func hasCondition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) *corev1.PodCondition {
	for i, condition := range pod.Status.Conditions {
		if condition.Type == kind && condition.Status == status {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func (o *Observer) volume(c *v1alpha1.EtcdCluster, v *cluster.View, members *join, claim *corev1.PersistentVolumeClaim) {
	serial := cluster.Serial(c.Name, claim.Name)
	if serial < 0 {
		return // a copy is its maker's: it is neither grown nor owned nor deleted
	}
	v.Record.NextSerial = max(v.Record.NextSerial, serial+1)
	if o.belongsToStranger(c, v, members, claim) {
		return
	}
	for _, first := range history(claim).First {
		v.Record.NextSerial = max(v.Record.NextSerial, cluster.Serial(c.Name, first)+1)
	}
	o.expiry(c, v, claim)
	if v.Want.Ephemeral {
		return // a volume of an earlier cluster is nothing to one that keeps no data
	}
	o.misfits(c, v, claim)
	if claim.Labels[v1alpha1.LabelQuarantined] != "" {
		return
	}
	m := members.member(claim.Name)
	m.Volume, members.chosen[claim.Name] = volumeState(claim), claim.Annotations[v1alpha1.AnnotationChosenImage]
	m.Unused = build.IsUnused(claim)
	if m.Volume == cluster.Kept {
		past := history(claim)
		past.Unused, past.Unfit = m.Unused, m.Unused && !build.IsFitting(c, claim)
		v.Volumes = append(v.Volumes, past)
	}
	if had := claim.Annotations[v1alpha1.AnnotationVersion]; members.unproven && minorOf(had) != "" {
		m.Version = had
	}
}

// belongsToStranger notes a volume in a member's place that is somebody else's, or has data of
// another cluster. What a Pod has mounted is judged by what its etcd says.
func (o *Observer) belongsToStranger(c *v1alpha1.EtcdCluster, v *cluster.View, members *join, claim *corev1.PersistentVolumeClaim) bool {
	foreign, why := cluster.Object{}, ""
	switch {
	case metav1.GetControllerOf(claim) != nil:
		foreign, why = foreignTo(c, claim)
	case v.Want.Ephemeral, claim.Labels[v1alpha1.LabelQuarantined] != "", members.pods[claim.Name] != nil:
		return false
	default:
		foreign = cluster.Object{Name: claim.Name, Why: build.Stranger(c, claim), Gone: claim.DeletionTimestamp != nil}
		why = foreign.Why
	}
	if why != "" {
		foreign.Kind = "PersistentVolumeClaim"
		v.Foreign = append(v.Foreign, foreign)
	}
	return why != ""
}

func volumeState(claim *corev1.PersistentVolumeClaim) cluster.VolumeState {
	switch {
	case claim.Status.Phase == corev1.ClaimLost:
		return cluster.NoVolume
	case claim.DeletionTimestamp != nil:
		return cluster.Going
	default:
		return cluster.Kept
	}
}

func history(claim *corev1.PersistentVolumeClaim) cluster.Volume {
	volume := cluster.Volume{
		Name:      claim.Name,
		Token:     claim.Annotations[v1alpha1.AnnotationToken],
		ClusterID: claim.Annotations[v1alpha1.AnnotationClusterID],
		Version:   claim.Annotations[v1alpha1.AnnotationVersion],
		Image:     claim.Annotations[v1alpha1.AnnotationChosenImage],
		Size:      claim.Spec.Resources.Requests.Storage().Value(),
		UID:       string(claim.UID),
	}
	if plan := claim.Annotations[v1alpha1.AnnotationPlan]; plan != "" {
		volume.First = strings.Split(plan, ",")
	}
	return volume
}

// expiry notes a volume that was set aside long enough ago.
func (o *Observer) expiry(c *v1alpha1.EtcdCluster, v *cluster.View, claim *corev1.PersistentVolumeClaim) {
	since, err := time.Parse(time.RFC3339, claim.Annotations[v1alpha1.AnnotationQuarantinedAt])
	if claim.Labels[v1alpha1.LabelQuarantined] == "" || claim.DeletionTimestamp != nil || err != nil {
		return
	}
	if age := o.come().Sub(since); age >= c.Spec.Storage.KeepFor() {
		v.Expired = append(v.Expired, cluster.Object{Kind: "PersistentVolumeClaim", Name: claim.Name, UID: string(claim.UID)})
	}
}
