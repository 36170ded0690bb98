"""What Lightning asks about a process that was started as one of several: its ranks, and where the first one is."""

import os

from lightning_fabric.plugins.environments import ClusterEnvironment, SLURMEnvironment

from lra.training.ranks import by_srun, local_rank, rank

FIRST_PORT, PORTS = 15_000, 10_000  # those from which srun's processes, which are told none, choose theirs


class LaunchedProcess(ClusterEnvironment):
    """Reads ranks as `lra.training.ranks` does, whoever started the processes: lra itself, torchrun or srun.

    Lightning has a class for each, which believe variables of other launchers, and forget a variable after training.
    """

    def __init__(self, processes: int):
        super().__init__()
        self._processes = processes

    @property
    def creates_processes_externally(self) -> bool:
        """Lightning starts none."""
        return True

    @staticmethod
    def detect() -> bool:
        """It is never found by itself, but always named."""
        return False

    @property
    def main_address(self) -> str:
        """The machine of the first process; srun tells the machines of its step."""
        nodes = os.environ.get("SLURM_STEP_NODELIST") or os.environ.get("SLURM_NODELIST", "127.0.0.1")
        return os.environ.get("MASTER_ADDR") or SLURMEnvironment.resolve_root_node_address(nodes)

    @property
    def main_port(self) -> int:
        """The port of the first process; for srun one that depends on the job and its step, so that all know it."""
        if "MASTER_PORT" in os.environ:
            return int(os.environ["MASTER_PORT"])
        job, step = (int(os.environ.get(name, 0)) for name in ("SLURM_JOB_ID", "SLURM_STEP_ID"))
        return FIRST_PORT + (job + step) % PORTS

    def world_size(self) -> int:
        """Number of all processes."""
        return self._processes

    def set_world_size(self, size: int) -> None:
        """Known already."""
        assert size == self._processes

    def global_rank(self) -> int:
        """Rank among all processes."""
        return rank(self._processes)

    def set_global_rank(self, rank: int) -> None:
        """Known already; Lightning computes it as if each machine had its ranks in a row, which srun need not do."""

    def local_rank(self) -> int:
        """Rank among the processes of this machine."""
        return local_rank(self._processes)

    def node_rank(self) -> int:
        """Number of this machine."""
        return int(os.environ.get("SLURM_NODEID" if by_srun(self._processes) else "GROUP_RANK", 0))
