{{- define "etcd-operator.chart" -}}
{{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "etcd-operator.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- $released := "" -}}
{{- with .Chart.Annotations }}{{ $released = index . "etcd-operator.dev/image-digest" }}{{ end -}}
{{- $digest := .Values.image.digest | default (ternary "" $released (ne .Values.image.tag "")) -}}
{{ .Values.image.repository }}{{ if $digest }}@{{ $digest }}{{ else }}:{{ $tag }}{{ end }}
{{- end }}

{{- /* Images of etcd by their versions, as the manifest has them: not among the values, which people keep from one release to the next. */ -}}
{{- define "etcd-operator.etcdImages" -}}
[[- range $version, $image := .EtcdImages ]]
[[ $version ]]: [[ $image ]]
[[- end ]]
{{- end }}

{{- define "etcd-operator.labels" -}}
{{- $pairs := list -}}
{{- range $key, $value := . }}{{ $pairs = append $pairs (printf "%s=%s" $key $value) }}{{ end -}}
{{ join "," $pairs }}
{{- end }}

{{- /* The other release that an object belongs to, if its operator is still there; else nothing. */ -}}
{{- define "etcd-operator.other" -}}
{{- $annotations := dig "metadata" "annotations" dict .object -}}
{{- $name := dig "meta.helm.sh/release-name" "" $annotations -}}
{{- $namespace := dig "meta.helm.sh/release-namespace" "" $annotations -}}
{{- if and $name (or (ne $name .release.Name) (ne $namespace .release.Namespace)) -}}
{{- $manager := lookup "apps/v1" "Deployment" $namespace (printf "%s-controller-manager" $name) -}}
{{- if eq $name (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $manager) -}}
release {{ $name }} in namespace {{ $namespace }}
{{- end -}}
{{- end -}}
{{- end }}
