"""A Ray cluster of several raylets on this machine's loopback."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

LOOPBACK_ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Without this variable Ray takes 127.0.0.1 for this machine's address on the network."""

SPARE = {"RAY_prestart_worker_first_driver": "0", "RAY_enable_worker_prestart": "0"}
"""Variables by which a raylet starts no Python before an engine asks for one: each takes seconds to import Ray."""

STORE = 80 << 20
"""Bytes of shared memory for each raylet, the least that Ray takes; nothing of ours goes there."""


@contextmanager
def local_cluster(nodes: int, environment: Mapping[str, str]) -> Iterator[Any]:
    """Start a cluster of `nodes`, each with room for one engine on the processor, and yield it; end it afterwards.

    Its processes see `environment` beside this process's own, which meanwhile has what joins the cluster.
    """
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(prefix="pl-", dir="/tmp")  # a short name, since sockets are put there
    Path(folder, "ray").mkdir()  # where Ray also notes the address of the last cluster, for `auto`
    own = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": folder, **LOOPBACK_ALONE, **SPARE}
    # Ray reads the variables when it is imported, which may have happened before.
    with (
        patch.dict(os.environ, {**own, **environment}),
        patch("ray._private.ray_constants.ENABLE_RAY_CLUSTER", False),
    ):
        each = {
            "num_cpus": 1,
            "object_store_memory": STORE,
            "node_ip_address": "127.0.0.1",
            "include_log_monitor": False,
        }
        head = {"include_dashboard": False, "no_monitor": True, "temp_dir": f"{folder}/ray", **each}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        try:
            for _ in range(nodes - 1):
                cluster.add_node(**each)
            yield cluster
        finally:
            cluster.shutdown()
            shutil.rmtree(folder, ignore_errors=True)
