// Package operatordouble stands in for the Spark operator and the Flink operator where no
// image can be pulled: it watches SparkApplications and FlinkDeployments, makes the pods
// that the operators would, as those would make them, and walks the states that the
// operators document. Whoever reads and writes such objects is tested by it; that an
// operator's own types take the objects is tested elsewhere.
//
//	double, err := operatordouble.Start(ctx, operatordouble.Config{Cluster: config})
//	if err != nil {
//		return err
//	}
//	defer double.Close()
//
// # Spark (sparkoperator.k8s.io/v1beta2, as of 2.5)
//
// SUBMITTED with a driver pod, RUNNING once that runs. The driver makes executors until
// as many as executor.instances live; each requests coreRequest (else cores) and memory +
// memoryOverhead, and carries the labels and annotations of executor. What executor.template
// says of the pod, Spark applies; executor.schedulerName and priorityClassName the
// operator's webhook does, which leaves pods with a template alone. SUCCEEDING and
// COMPLETED follow, executors and driver go. With restartPolicy Never a failed submission
// ends in FAILED.
//
// # Flink (flink.apache.org/v1beta1, as of 1.15, mode standalone)
//
// A Deployment of the job manager and one of taskManager.replicas task managers, whose
// pods upstream's controllers make (package embedded/controllers); limits are requests.
// CREATED, DEPLOYED, STABLE; the job RUNNING once all task managers run, then FINISHED;
// they outlive it until the FlinkDeployment is deleted, and the garbage collector removes
// them.
//
// # How long an application takes
//
// Pods sleep, or take the cores of [simnode.AnnotationCores], and never end by themselves.
// The application has succeeded when all its executors or task managers have run for
// [simnode.AnnotationWork] seconds, which executor.annotations or
// taskManager.podTemplate.metadata.annotations say; the default is
// [simnode.DefaultWork].
//
// What an operator does besides (services, ingresses, webhooks' certificates, savepoints,
// upgrades, restarts, suspension) is not here. [Faults] are what goes wrong.
//
// Types that do not speak of concurrent use are plain values.
package operatordouble
