{{/* The ports inside of a pod. */}}
{{- define "sluice.port.api" -}}3000{{- end -}}
{{- define "sluice.port.admin" -}}3001{{- end -}}
{{- define "sluice.port.health" -}}3002{{- end -}}

{{/*
How long a pod may take to stop, in seconds: until load balancers have noticed, until it has drained, and five seconds in which a
process says what still holds it open, twice. Takes drainTimeoutMs and preStopSeconds.
*/}}
{{- define "sluice.gracePeriod" -}}
{{- add (int (default 0 .preStopSeconds)) (ceil (divf .drainTimeoutMs 1000)) 10 -}}
{{- end -}}

{{/* What may run of a container: no root, no capability, no write but to its volumes. */}}
{{- define "sluice.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
capabilities: { drop: [ALL] }
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{/* The rest of a pod's spec that every part has. Takes root, part and selector (its labels as text). */}}
{{- define "sluice.podSpec" -}}
serviceAccountName: {{ include "sluice.serviceAccountName" .root }}
automountServiceAccountToken: false
# Addresses come from the settings, and a variable for each Service of the namespace would only confuse.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
terminationGracePeriodSeconds: {{ include "sluice.gracePeriod" .part }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .part.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .part.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.spreadOver }}
topologySpreadConstraints:
  {{- range . }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels:
        {{- $.selector | nindent 8 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* What a process of Sluice asks of its container, whatever its role. Takes root, part and port, the name of the probed port. */}}
{{- define "sluice.container" -}}
image: {{ include "sluice.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  {{- include "sluice.containerSecurity" . | nindent 2 }}
resources:
  {{- toYaml .part.resources | nindent 2 }}
# A slow machine may take its time; after that, a process that does not answer is stuck.
startupProbe:
  httpGet: { path: /healthz, port: {{ .port }} }
  periodSeconds: 2
  failureThreshold: 60
# Whether the process lives, not whether it is ready: a restart does not help while the store is away.
livenessProbe:
  httpGet: { path: /healthz, port: {{ .port }} }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: {{ .port }} }
  periodSeconds: 3
  timeoutSeconds: 3
  failureThreshold: 2
volumeMounts:
  # A folder without subPath, or a running process would never see a change.
  - { name: settings, mountPath: /etc/sluice, readOnly: true }
  - { name: tmp, mountPath: /tmp }
  {{- with .part.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* A quantity such as 64Mi, 4Gi or 1Ti in MiB. */}}
{{- define "sluice.mebibytes" -}}
{{- $number := regexFind "^[0-9]+" . | int64 -}}
{{- $factor := get (dict "Mi" 1 "Gi" 1024 "Ti" 1048576) (regexFind "[A-Z]i$" .) -}}
{{- mul $number $factor -}}
{{- end -}}

{{/* The volumes of a pod. Takes root, part, existingSettings and key. */}}
{{- define "sluice.volumes" -}}
- {{ include "sluice.settingsVolume" . | nindent 2 | trim }}
- name: tmp
  emptyDir: { sizeLimit: {{ .part.tmpSize | default "64Mi" }} }
{{- with .part.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
