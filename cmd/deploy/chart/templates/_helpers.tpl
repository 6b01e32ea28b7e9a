{{/* Labels of an object: (dict "name" NAME). */}}
{{- define "spazio.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/part-of: spazio
{{- end }}

{{/* Image of a program: (dict "root" $ "name" NAME), and "of" what spazio.schedulerOf says. */}}
{{- define "spazio.image" -}}
{{- $i := .root.Values.images -}}
{{- $of := default "" .of -}}
{{- with index $i.digests (print .name $of) -}}
{{ printf "%s/%s@%s" $i.registry $.name . }}
{{- else -}}
{{- if index $i.digests .name }}{{ fail (printf "images.digests has one of %s, and none of %s%s" .name .name $of) }}{{ end -}}
{{ printf "%s/%s:%s%s" $i.registry .name $i.tag $of }}
{{- end }}
{{- end }}

{{/* What ends the tag of the scheduler's image, and its name among digests: nothing for the
     version of Kubernetes that it is of by default. A scheduler may be a minor version older
     than the API server, and is never newer. */}}
{{- define "spazio.schedulerOf" -}}
{{- $of := .Values.scheduler.kubernetes -}}
{{- $server := .Capabilities.KubeVersion -}}
{{- $newer := sub (trimSuffix "+" $server.Minor | int) (trimPrefix "1." $of | int) -}}
{{- if and (eq $server.Major "1") (or (lt $newer 0) (gt $newer 1)) -}}
{{- fail (printf "scheduler.kubernetes is %s, and the API server %s (helm template: --kube-version): a scheduler may be a minor version older than the API server, and is never newer" $of $server.Version) -}}
{{- end -}}
{{- if ne $of "1.37" -}}
-k8s{{ $of }}
{{- end -}}
{{- end }}

{{/* What every pod's spec begins with. */}}
{{- define "spazio.pod" -}}
enableServiceLinks: false
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{/* What every container has. */}}
{{- define "spazio.container" -}}
imagePullPolicy: {{ .Values.images.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* Replicas in as many zones, and on as many hosts, as there are: (dict "name" NAME). */}}
{{- define "spazio.spread" -}}
{{- /* Zones are no second constraint: kube-scheduler ignores nodes that lack the label of one. */ -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: &replicas
      matchLabels:
        app.kubernetes.io/name: {{ .name }}
    matchLabelKeys: [pod-template-hash]
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: topology.kubernetes.io/zone
          labelSelector: *replicas
          matchLabelKeys: [pod-template-hash]
{{- end }}

{{/* Volume of a server's certificate and key. Naming the items has the pod wait for them. */}}
{{- define "spazio.tlsVolume" -}}
name: tls
secret:
  secretName: {{ .name }}-tls
  defaultMode: 0440
  items:
    - key: tls.crt
      path: tls.crt
    - key: tls.key
      path: tls.key
{{- end }}

{{/* The same, as a source of a projected volume: (dict "name" NAME). */}}
{{- define "spazio.tlsSource" -}}
secret:
  name: {{ .name }}-tls
  items:
    - key: tls.crt
      path: tls.crt
    - key: tls.key
      path: tls.key
{{- end }}

{{/* Source of the authorities that all trust: (dict "root" $ "secret" SECRET), with "clients" also as
     those of clients. cert-manager has no bundle to give away: there it comes with a certificate of
     the pod's namespace. */}}
{{- define "spazio.trust" -}}
{{- if eq .root.Values.certificates.method "certManager" -}}
secret:
  name: {{ .secret }}
{{- else -}}
configMap:
  name: spazio-trust
{{- end }}
  items:
    - key: ca.crt
      path: ca.crt
    {{- if .clients }}
    - key: ca.crt
      path: client-ca.crt
    {{- end }}
{{- end }}

{{/* Names by which a service is asked for: (dict "root" $ "name" NAME). */}}
{{- define "spazio.dnsNames" -}}
{{- $system := .root.Values.namespaces.system -}}
- {{ .name }}
- {{ .name }}.{{ $system }}
- {{ .name }}.{{ $system }}.svc
- {{ .name }}.{{ $system }}.svc.{{ .root.Values.clusterDomain }}
{{- end }}

{{/* The agents' service account, as servers name it. */}}
{{- define "spazio.agentAccount" -}}
{{ .Values.namespaces.agent }}/spazio-agent
{{- end }}

{{/* Whether agents mount the host's control groups: those that ask the API server who runs do not,
     unless what pods take is read there. */}}
{{- define "spazio.agentMounts" -}}
{{- if or (ne .Values.agent.podSource "kube") .Values.profiler.enabled .Values.energy.enabled }}true{{ end -}}
{{- end }}

{{/* What energy is read from: root, whether that takes uid 0; sys, directories of the host by the
     names of their volumes, those that every machine has, since a pod with a volume that a node
     lacks would not start there; shared, whether the host's tree for its guests. */}}
{{- define "spazio.energyMounts" -}}
{{- if .Values.energy.enabled }}
{{- $source := .Values.energy.source }}
{{- if has $source (list "auto" "powercap") }}
root: true
{{- end }}
{{- if eq $source "powercap" }}
sys:
  sys-class: /sys/class
  sys-devices: /sys/devices/virtual
{{- else if has $source (list "auto" "hwmon") }}
sys:
  sys-class: /sys/class
  sys-devices: /sys/devices
{{- end }}
{{- if eq $source "shared" }}
shared: true
{{- end }}
{{- end }}
{{- end }}

{{/* The Pod Security Standard that agents need. */}}
{{- define "spazio.agentStandard" -}}
{{- if or (include "spazio.agentMounts" .) .Values.agent.hostPID .Values.agent.hostProc }}privileged{{ else }}restricted{{ end -}}
{{- end }}

{{/* The order of the queue, which all profiles share. */}}
{{- define "spazio.queueSort" -}}
queueSort:
  enabled:
    - name: {{ .Values.scheduler.queueSort }}
  disabled:
    - name: "*"
{{- end }}

{{/* The scheduler's configuration file. */}}
{{- define "spazio.schedulerConfig" -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true
  resourceName: spazio-scheduler
  resourceNamespace: {{ .Values.namespaces.system }}
profiles:
  - schedulerName: spazio
    # A sample of the nodes would miss the few that have room.
    percentageOfNodesToScore: 100
    plugins:
      {{- include "spazio.queueSort" . | nindent 6 }}
      multiPoint:
        enabled:
          - name: Spazio
            weight: 5
    pluginConfig:
      - name: Spazio
        args:
          {{- toYaml (merge (dict) .Values.scheduler.args (include "spazio.schedulerArgs" . | fromYaml)) | nindent 10 }}
  {{- if .Values.energy.enabled }}
  # For pods that name it: of the nodes with room, one that takes less energy.
  - schedulerName: spazio-energy
    percentageOfNodesToScore: 100
    plugins:
      {{- include "spazio.queueSort" . | nindent 6 }}
      multiPoint:
        enabled:
          - name: Spazio
            weight: 5
    pluginConfig:
      - name: Spazio
        args:
          {{- toYaml (merge (dict "energyWeight" .Values.energy.weight) .Values.scheduler.args (include "spazio.schedulerArgs" . | fromYaml)) | nindent 10 }}
  {{- end }}
  {{- if .Values.testbed.enabled }}
  # For testbeds' placeholders and the pods that take their place: SpazioSlots has fit and bind to itself.
  - schedulerName: spazio-slots
    # A sample of a pod's nodes would miss its first slot.
    percentageOfNodesToScore: 100
    plugins:
      {{- include "spazio.queueSort" . | nindent 6 }}
      multiPoint:
        enabled:
          - name: Spazio
          - name: SpazioSlots
        disabled:
          - name: NodeResourcesFit
          - name: NodeResourcesBalancedAllocation
          - name: DefaultPreemption
          - name: DefaultBinder
      preScore:
        disabled:
          - name: "*"
      score:
        enabled:
          - name: SpazioSlots
        disabled:
          - name: "*"
    pluginConfig:
      - name: Spazio
        args:
          {{- toYaml (merge (dict) .Values.scheduler.args (include "spazio.schedulerArgs" . | fromYaml)) | nindent 10 }}
  {{- end }}
{{- end }}

{{/* The template of the pods of spazio-certs. */}}
{{- define "spazio.certsPod" -}}
metadata:
  labels:
    {{- include "spazio.labels" (dict "name" "spazio-certs") | nindent 4 }}
spec:
  {{- include "spazio.pod" . | nindent 2 }}
  restartPolicy: OnFailure
  serviceAccountName: spazio-certs
  automountServiceAccountToken: true
  containers:
    - name: certs
      image: {{ include "spazio.image" (dict "root" $ "name" "spazio-certs") }}
      {{- include "spazio.container" . | nindent 6 }}
      args:
        - --namespace={{ .Values.namespaces.system }}
        - --agent-namespace={{ .Values.namespaces.agent }}
        - --cluster-domain={{ .Values.clusterDomain }}
        - --server=spazio-scheduler
        # With test beds or without: what runs is the same then, whichever components there are.
        - --server=spazio-testbed
        {{- if .Values.profiler.enabled }}
        - --server=spazio-profiler,{{ include "spazio.profilers" . | fromYamlArray | join "," }}
        {{- end }}
        {{- if .Values.descheduler.enabled }}
        - --server=spazio-descheduler
        {{- end }}
        - --peer=spazio-aggregator,spazio-aggregator-peers
      resources:
        requests:
          cpu: 10m
          memory: 32Mi
        limits:
          memory: 128Mi
{{- end }}

{{/* The servers that have certificates, as a list. */}}
{{- define "spazio.servers" -}}
- spazio-scheduler
- spazio-aggregator
- spazio-testbed
{{- if .Values.profiler.enabled }}
- spazio-profiler
{{- end }}
{{- if .Values.descheduler.enabled }}
- spazio-descheduler
{{- end }}
{{- end }}

{{/* The plugin's arguments, where the values have no others. */}}
{{- define "spazio.schedulerArgs" -}}
listen: :9690
tlsCertFile: /etc/spazio/tls/tls.crt
tlsKeyFile: /etc/spazio/tls/tls.key
agentServiceAccount: {{ include "spazio.agentAccount" . }}
{{- if .Values.testbed.enabled }}
controllerServiceAccount: {{ .Values.namespaces.system }}/spazio-testbed
{{- end }}
{{- end }}

{{/* The profiler's replicas by their names in its service, as a list. */}}
{{- define "spazio.profilers" -}}
{{- range $i := until (int .Values.profiler.replicas) }}
- spazio-profiler-{{ $i }}.spazio-profiler
{{- end }}
{{- end }}
