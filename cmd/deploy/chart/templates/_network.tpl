{{/* Rules of network policies; each is one entry of a list, or none. */}}

{{/* From the agents: (dict "root" $ "port" PORT). */}}
{{- define "spazio.fromAgents" -}}
- from:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ .root.Values.namespaces.agent }}
      podSelector:
        matchLabels:
          app.kubernetes.io/name: spazio-agent
  ports:
    - protocol: TCP
      port: {{ .port }}
{{- end }}

{{/* From whatever runs in the namespace of monitoring: (dict "root" $ "port" PORT). */}}
{{- define "spazio.fromMonitoring" -}}
{{- with .root.Values.networkPolicies.monitoringNamespace -}}
- from:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ . }}
  ports:
    - protocol: TCP
      port: {{ $.port }}
{{- end }}
{{- end }}

{{/* To our own pods: (dict "root" $ "name" NAME "port" PORT). */}}
{{- define "spazio.to" -}}
- to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ .root.Values.namespaces.system }}
      podSelector:
        matchLabels:
          app.kubernetes.io/name: {{ .name }}
  ports:
    - protocol: TCP
      port: {{ .port }}
{{- end }}

{{/* To the API server, whose addresses are the cluster's: its ports anywhere. */}}
{{- define "spazio.toAPIServer" -}}
- ports:
    - protocol: TCP
      port: 443
    - protocol: TCP
      port: 6443
{{- end }}
