{{/* The settings file of the apis. */}}
{{- define "sluice.apiSettings" -}}
{{- toYaml .Values.settings -}}
{{- end -}}

{{/* Of the settings of the apis, what takes effect only when a process starts again. */}}
{{- define "sluice.apiSettingsForRestart" -}}
{{- $fixed := omit .Values.settings "keys" "models" "providers" -}}
{{- with $fixed.limits -}}
{{- $fixed = set (deepCopy $fixed) "limits" (omit . "queued" "queuedBytes" "redisMemoryPercent" "bodyBytes" "bodyBytesInFlight") -}}
{{- end -}}
{{- toYaml $fixed -}}
{{- end -}}

{{/*
The settings file of a pool: without the keys of tenants, which workers do not use, and with the models of the pool alone and the
providers that these are routed to. Takes root and pool.
*/}}
{{- define "sluice.workerSettings" -}}
{{- $file := omit .root.Values.settings "keys" -}}
{{- $pool := .pool -}}
{{- if $pool.models -}}
{{- $models := list -}}
{{- $routed := list -}}
{{- range $file.models -}}
{{- if has .id $pool.models -}}
{{- $models = append $models . -}}
{{- range .routes -}}{{- $routed = append $routed .provider -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $providers := list -}}
{{- range $file.providers -}}
{{- if has .id $routed -}}{{- $providers = append $providers . -}}{{- end -}}
{{- end -}}
{{- $file = merge (dict "models" $models "providers" $providers) (omit $file "models" "providers") -}}
{{- end -}}
{{- toYaml $file -}}
{{- end -}}

{{/* The same of the settings of any pool: a running worker takes up its models and providers by itself. */}}
{{- define "sluice.workerSettingsForRestart" -}}
{{- $fixed := omit .Values.settings "keys" "models" "providers" -}}
{{- toYaml $fixed -}}
{{- end -}}

{{/* The name of the ConfigMap entry with the settings of a pool. */}}
{{- define "sluice.workerSettingsKey" -}}
{{- if .name -}}worker-{{ .name }}.yaml{{- else -}}worker.yaml{{- end -}}
{{- end -}}

{{/* Whether the settings are a file of the operator's: 'true' or nothing. Takes existingSettings. */}}
{{- define "sluice.hasExistingSettings" -}}
{{- if or .configMap .secret -}}true{{- end -}}
{{- end -}}

{{/* The volume with the settings file. Takes root, existingSettings and key, the entry of the chart's own ConfigMap. */}}
{{- define "sluice.settingsVolume" -}}
name: settings
{{- if .existingSettings.secret }}
secret:
  secretName: {{ .existingSettings.secret }}
  items: [{ key: {{ .existingSettings.key | quote }}, path: settings.yaml }]
{{- else if .existingSettings.configMap }}
configMap:
  name: {{ .existingSettings.configMap }}
  items: [{ key: {{ .existingSettings.key | quote }}, path: settings.yaml }]
{{- else }}
configMap:
  name: {{ include "sluice.fullname" .root }}-settings
  items: [{ key: {{ .key | quote }}, path: settings.yaml }]
{{- end }}
{{- end -}}

{{/* The names that a text reads from the environment as ${NAME}, as a JSON list. `$${` stands for `${` itself. */}}
{{- define "sluice.references" -}}
{{- $names := list -}}
{{- range regexFindAll "\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}" (replace "$${" "" .) -1 -}}
{{- $names = append $names (. | trimPrefix "${" | trimSuffix "}") -}}
{{- end -}}
{{- $names | uniq | sortAlpha | toJson -}}
{{- end -}}
