"""Tasks of a cluster."""

from .. import _engine


class ClusterSpec:
    """Addresses by job and task: `ClusterSpec({"ps": ["host:2222"], "worker": ["host:2223"]})`."""

    def __init__(self, cluster):
        if isinstance(cluster, ClusterSpec):
            cluster = cluster.as_dict()
        if not isinstance(cluster, dict):
            raise TypeError(f"cluster must be a dictionary of jobs, got {cluster!r}")
        self._jobs = {job: dict(tasks) if isinstance(tasks, dict) else dict(enumerate(tasks)) for job, tasks in cluster.items()}

    @property
    def jobs(self):
        return sorted(self._jobs)

    def num_tasks(self, job_name):
        return len(self._jobs[job_name])

    def task_indices(self, job_name):
        return sorted(self._jobs[job_name])

    def task_address(self, job_name, task_index):
        return self._jobs[job_name][task_index]

    def job_tasks(self, job_name):
        return [self._jobs[job_name][i] for i in self.task_indices(job_name)]

    def as_dict(self):
        return {job: self.job_tasks(job) for job in self.jobs}

    def __eq__(self, other):
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __bool__(self):
        return bool(self._jobs)

    __hash__ = None


class Server:
    """A task that listens in this process, until it is collected."""

    def __init__(self, server_or_cluster_def, job_name=None, task_index=None, protocol=None, config=None, start=True):
        self._cluster = ClusterSpec(server_or_cluster_def)
        if job_name is None:
            if len(self._cluster.jobs) != 1:
                raise ValueError("Must specify an explicit `job_name`.")
            job_name = self._cluster.jobs[0]
        if task_index is None:
            if self._cluster.num_tasks(job_name) != 1:
                raise ValueError("Must specify an explicit `task_index`.")
            task_index = self._cluster.task_indices(job_name)[0]
        self._arguments = (self._cluster._jobs, job_name, task_index)
        self._server = None
        if start:
            self.start()

    @staticmethod
    def create_local_server(config=None, start=True):
        return Server({"localhost": ["localhost:0"]}, start=start)

    def start(self):
        if self._server is None:
            self._server = _engine.Server(*self._arguments)

    def join(self):
        """Serves until the process is interrupted."""
        import threading

        threading.Event().wait()

    def stop(self):
        if self._server is not None:
            self._server.stop()

    @property
    def target(self):
        return self._server.target

    @property
    def server_def(self):
        return self._arguments


def replica_device_setter(ps_tasks=0, ps_device="/job:ps", worker_device="/job:worker", merge_devices=True, cluster=None, ps_ops=None,
                          ps_strategy=None):
    """A device function that puts variables on the parameter servers in turn: the engine's."""
    if cluster is not None:
        cluster = ClusterSpec(cluster)
        job = ps_device.split("/job:")[-1].split("/")[0]
        ps_tasks = cluster.num_tasks(job) if job in cluster.jobs else 0
    if ps_tasks == 0:
        return None
    return _engine.ReplicaDevices(ps_tasks, ps_device, worker_device, list(ps_ops) if ps_ops else None)
