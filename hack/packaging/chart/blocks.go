// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// blocks are what values add to objects. "nindent +2" is two to the right of the block. WATCH_NAMESPACE is as config/default has it while
// no namespaces are given.
func blocks(watchesAll string) map[string]string {
	return map[string]string{
		"keep": `
{{- if .Values.crds.keep }}
helm.sh/resource-policy: keep
{{- end }}`,

		"args": `
{{- range $name, $field := dict "images" "images" "priority-classes" "priorityClasses" "tolerations" "tolerations" "labels" "labels" ` +
			`"annotations" "annotations" "store-endpoints" "storeEndpoints" }}
{{- with index $.Values.limits $field }}
- {{ printf "--allowed-%s=%s" $name (join "," .) | quote }}
{{- end }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}`,

		"watch": `
{{- if .Values.watchNamespaces }}
value: {{ join "," .Values.watchNamespaces | quote }}
{{- else }}
` + watchesAll + `
{{- end }}`,

		// A variable must not be there twice.
		"etcd": `
{{- $given := dict }}
{{- range .Values.extraEnv }}{{ $_ := set $given .name true }}{{ end }}
{{- range $version, $image := merge (dict) .Values.etcdImages (include "etcd-operator.etcdImages" . | fromYaml) }}
{{- $name := printf "` + relatedImage + `%s" ($version | replace "." "_") }}
{{- if not (hasKey $given $name) }}
- name: {{ $name }}
  value: {{ $image | quote }}
{{- end }}
{{- end }}`,

		"env": `
{{- with .Values.monitoring.serviceMonitorLabels }}
- name: SERVICE_MONITOR_LABELS
  value: {{ include "etcd-operator.labels" . | quote }}
{{- end }}
{{- if .Values.monitoring.certificateSecret }}
- name: METRICS_CERT_PATH
  value: /metrics-certificate
{{- end }}
{{- with .Values.extraEnv }}
{{- toYaml . | nindent +0 }}
{{- end }}`,

		"resources": `
resources:
  {{- toYaml .Values.resources | nindent +2 }}
{{- if .Values.monitoring.certificateSecret }}
volumeMounts:
- name: metrics-certificate
  mountPath: /metrics-certificate
  readOnly: true
{{- end }}`,

		"pod": `
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent +2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent +2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent +2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent +2 }}
{{- end }}
{{- with .Values.monitoring.certificateSecret }}
volumes:
- name: metrics-certificate
  secret:
    secretName: {{ . | quote }}
{{- end }}`,
	}
}
