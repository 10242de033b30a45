"""Memory and idle load of one leader and five followers, the practice chat left out.

PSS counts a page that n processes share as 1/n in each, so the sum is what the machine really gives.
"""

import re
import tempfile
import time
from pathlib import Path

import psutil

from tests.support.cluster import Cluster, Instance, running_cluster

FOLLOWERS = 5
SETTLE_S = 85.0
"""Until everyone is idle: mutation actors end after a minute without work."""
IDLE_S = 20.0


def pss_mib(pid: int) -> float:
    """Proportional set size of a process, in MiB; nothing of one that has just ended."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        print(f"process {pid} has just ended")
        return 0.0
    found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)
    return int(found.group(1)) / 1024 if found else 0.0


def cpu_s(processes: list[psutil.Process]) -> float:
    """Processor seconds that these used so far."""
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def label(cluster: Cluster, instance: Instance, process: psutil.Process) -> str:
    """What a process does, for the table."""
    actors = {actor["pid"]: actor["name"] for actor in cluster.status()["actors"]}
    if process.pid in actors:
        return actors[process.pid]
    if process.pid == instance.pid:
        return "main"
    return "launcher" if process.ppid() == instance.pid else "leader, admin or logger"


def main() -> None:
    """Start the cluster, let it settle, print the table."""
    with tempfile.TemporaryDirectory() as directory, running_cluster(Path(directory)) as cluster:
        instances = [cluster.start(name=f"process-{number}") for number in range(FOLLOWERS + 1)]
        time.sleep(SETTLE_S)
        everyone = [process for instance in instances for process in instance.members()]
        began, used = time.monotonic(), cpu_s(everyone)
        time.sleep(IDLE_S)
        idle = (cpu_s(everyone) - used) / (time.monotonic() - began)
        total = 0.0
        for number, instance in enumerate(instances):
            sizes = [(label(cluster, instance, p), pss_mib(p.pid)) for p in instance.members()]
            total += sum(size for _, size in sizes)
            if number < 2:
                print(f"{instance.role}: {sum(size for _, size in sizes):.0f} MiB")
                for name, size in sizes:
                    print(f"  {size:6.1f} MiB  {name}")
        print(f"one leader and {FOLLOWERS} followers: {total:.0f} MiB PSS in {len(everyone)} processes")
        print(f"idle: {100 * idle:.2f} % of one core over {IDLE_S:.0f} s")
