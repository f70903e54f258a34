{{/*
The pools of workers as a JSON list, complete: what a pool does not say is what `worker` says. Without `pools` there is one, which
has no name and every model.
*/}}
{{- define "sluice.pools" -}}
{{- $root := . -}}
{{- $pools := list -}}
{{- range default (list (dict "name" "")) .Values.pools -}}
{{- $pool := mergeOverwrite (deepCopy $root.Values.worker) (deepCopy .) -}}
{{- $fullname := printf "%s-worker" (include "sluice.fullname" $root) -}}
{{- $_ := set $pool "fullname" (ternary $fullname (printf "%s-%s" $fullname .name) (empty .name)) -}}
{{- $file := deepCopy $root.Values.existingSettings -}}
{{- with .existingSettings -}}
{{- if or .configMap .secret -}}{{- $file = omit $file "configMap" "secret" -}}{{- end -}}
{{- $file = mergeOverwrite $file . -}}
{{- end -}}
{{- $_ := set $pool "existingSettings" $file -}}
{{- $pools = append $pools $pool -}}
{{- end -}}
{{- $pools | toJson -}}
{{- end -}}

{{/* The path of the admin listener that KEDA asks about a model, or about all with an empty one. Takes pool and model. */}}
{{- define "sluice.scalePath" -}}
/scale?slots={{ int .pool.concurrency }}{{ with .model }}&model={{ urlquery . }}{{ end }}
{{- end -}}
