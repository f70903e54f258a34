{{/* What every pod may call: names, the store, and webhooks. Then what the operator adds. Takes the root. */}}
{{- define "sluice.egress" -}}
{{- $policy := .Values.networkPolicy -}}
- ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
- ports:
    {{- range $policy.storePorts }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
  {{- with $policy.storeTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- include "sluice.webhookEgress" (default dict .Values.settings.webhooks) }}
{{- with $policy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
Where endpoints of webhooks may be, which tenants choose: what the service itself takes for public, on port 443. A worker sends webhooks, and an
api the test of an endpoint. Takes settings.webhooks.
*/}}
{{- define "sluice.webhookEgress" -}}
{{- if ne (toString .enabled) "false" }}
- ports:
    - { protocol: TCP, port: 443 }
    {{- if .allowPrivateNetworks }}
    - { protocol: TCP, port: 80 }
    {{- else }}
  to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except:
          - 0.0.0.0/8
          - 10.0.0.0/8
          - 100.64.0.0/10
          - 127.0.0.0/8
          - 169.254.0.0/16
          - 172.16.0.0/12
          - 192.0.0.0/24
          - 192.168.0.0/16
          - 198.18.0.0/15
          - 224.0.0.0/4
          - 240.0.0.0/4
    # All public addresses there are; the others of IPv6 lead inside.
    - ipBlock: { cidr: 2000::/3, except: [2001::/23, 2001:db8::/32, 2002::/16] }
    {{- end }}
{{- end }}
{{- end -}}
