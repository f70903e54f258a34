{{/* What every pod may call: names, and the store. Then what the operator adds. */}}
{{- define "sluice.egress" -}}
- ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
- ports:
    - { protocol: TCP, port: {{ .storePort }} }
  {{- with .storeTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- with .extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end -}}
