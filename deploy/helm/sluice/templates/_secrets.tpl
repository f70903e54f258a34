{{/*
Refuses text that is a secret by its name, and an address with a password, unless these are read from the environment. Looks into
lists and mappings at any depth, because the options of a provider are in the words of its package. Takes at (the path of the value),
name (its own, or that of its list) and value.
*/}}
{{- define "sluice.refuseSecretsInClear" -}}
{{- $at := .at -}}
{{- $name := .name -}}
{{- if kindIs "map" .value -}}
{{- range $member, $value := .value -}}
{{- include "sluice.refuseSecretsInClear" (dict "at" (printf "%s.%s" $at $member) "name" $member "value" $value) -}}
{{- end -}}
{{- else if kindIs "slice" .value -}}
{{- range $index, $value := .value -}}
{{- include "sluice.refuseSecretsInClear" (dict "at" (printf "%s[%d]" $at $index) "name" $name "value" $value) -}}
{{- end -}}
{{- else if kindIs "string" .value -}}
{{- if and .value (regexMatch "(?i)(key|token|secret|password|passphrase|credential|authorization|auth|cookie)s?$" $name) (not (contains "${" .value)) -}}
{{- fail (printf "%s is in clear: put it into the Secret and write ${NAME} here" $at) -}}
{{- end -}}
{{- /* The address may read its other parts from the environment. */ -}}
{{- $inAuthority := regexFind "://[^/?#]*@" .value | regexFind ":[^/:][^:]*@$" -}}
{{- $inQuery := regexFind "(?i)://.*[?&](ssl)?password=[^&#]+" .value | regexFind "[^=]+$" -}}
{{- range list $inAuthority $inQuery -}}
{{- if and . (not (contains "${" .)) -}}
{{- fail (printf "%s has a password in clear: put it into the Secret and write ${NAME} in its place" $at) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
