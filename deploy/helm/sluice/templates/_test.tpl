{{/*
The model that `helm test` has answer: that of the values, or the first that a simulator serves. Nothing where neither is known:
a test must not spend money.
*/}}
{{- define "sluice.testModel" -}}
{{- $settings := .Values.settings -}}
{{- if .Values.test.model -}}
{{- .Values.test.model -}}
{{- else if include "sluice.hasExistingSettings" .Values.existingSettings -}}
{{- else if not (or $settings.models $settings.providers) -}}
simulator
{{- else -}}
{{- $simulators := list -}}
{{- range $settings.providers -}}
{{- if eq .type "simulator" -}}{{- $simulators = append $simulators .id -}}{{- end -}}
{{- end -}}
{{- $found := list -}}
{{- range $settings.models -}}
{{- if and (has (first .routes).provider $simulators) (eq (len .routes) 1) -}}{{- $found = append $found .id -}}{{- end -}}
{{- end -}}
{{- with $found -}}{{- first . -}}{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The variable with the key that `helm test` sends: that of the values, or the first of `settings` that may use the model. Takes root and
model. Nothing where there is none.
*/}}
{{- define "sluice.testKey" -}}
{{- $model := .model -}}
{{- if .root.Values.test.apiKey -}}
{{- .root.Values.test.apiKey -}}
{{- else if not (include "sluice.hasExistingSettings" .root.Values.existingSettings) -}}
{{- $found := list -}}
{{- range .root.Values.settings.keys -}}
{{- $mayUse := or (not .models) (has $model .models) (has "*" .models) -}}
{{- if and $mayUse (not .disabled) (regexMatch "^\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$" (default "" .key)) -}}
{{- $found = append $found (.key | trimPrefix "${" | trimSuffix "}") -}}
{{- end -}}
{{- end -}}
{{- with $found -}}{{- first . -}}{{- end -}}
{{- end -}}
{{- end -}}
