{{/* Where a variable is: the name of a Secret and a key in it. Takes root and name. */}}
{{- define "sluice.secretKey" -}}
{{- $secret := .root.Values.secret -}}
{{- $source := get $secret.from .name -}}
{{- if $source -}}
name: {{ $source.name }}
key: {{ $source.key | quote }}
{{- else if $secret.existing -}}
name: {{ $secret.existing }}
key: {{ .name }}
{{- else if $secret.create -}}
{{- $_ := required (printf "secret.values.%s is missing: secret.create makes a Secret of secret.values, and a pod reads this from it" .name) (get $secret.values .name) -}}
name: {{ include "sluice.fullname" .root }}
key: {{ .name }}
{{- else -}}
{{- fail (printf "secret.existing is empty: name a Secret that has %s, or say where it is in secret.from.%s" .name .name) -}}
{{- end -}}
{{- end -}}

{{/* A variable from a Secret. Takes root and name. */}}
{{- define "sluice.secretVariable" }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      {{- include "sluice.secretKey" . | nindent 6 }}
{{- end -}}

{{/*
The variables of a container. Takes root, part (`api`, or a pool), values (of the chart itself: a list of name and value), secrets
(names), settings (the text of its file, empty where that is the operator's) and at (the path of the part in the values).

What a settings file reads from the environment comes from the Secret, unless `extraEnv` has it.
*/}}
{{- define "sluice.environment" -}}
{{- $root := .root -}}
{{- $at := .at -}}
{{- $extra := dict -}}
{{- range .part.extraEnv -}}{{- $_ := set $extra .name true -}}{{- end -}}
{{- $own := dict -}}
{{- range .values }}
{{- if not (and (eq .name "NODE_OPTIONS") (hasKey $extra .name)) }}
{{- $_ := set $own .name true }}
- name: {{ .name }}
  value: {{ .value | toString | quote }}
{{- end }}
{{- end }}
{{- $references := include "sluice.references" .settings | fromJsonArray -}}
{{- range concat .secrets $references | uniq }}
{{- if or (not (hasKey $extra .)) (has . $.secrets) }}
{{- if not (hasKey $own .) }}
{{- $_ := set $own . true }}
{{- include "sluice.secretVariable" (dict "root" $root "name" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- range .part.extraEnv }}
{{- if hasKey $own .name }}
{{- fail (printf "%s.extraEnv has %s, which the chart sets: change the value of the chart that it follows from" $at .name) }}
{{- end }}
{{- end }}
{{- with .part.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Node's options as a list with one variable, or none: three quarters of the memory limit are heap. Takes a part. */}}
{{- define "sluice.nodeOptions" -}}
{{- $memory := dig "limits" "memory" "" (default dict .resources) | toString -}}
{{- if $memory -}}
{{- $mebibytes := include "sluice.mebibytes" $memory | int64 -}}
{{- list (dict "name" "NODE_OPTIONS" "value" (printf "--max-old-space-size=%d" (div (mul $mebibytes 3) 4))) | toJson -}}
{{- else -}}
[]
{{- end -}}
{{- end -}}
