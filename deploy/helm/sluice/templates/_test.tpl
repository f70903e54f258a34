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
