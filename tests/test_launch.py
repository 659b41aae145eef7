"""A process that has given up sockets still starts others that have not."""

import subprocess
import sys

CODE = """
import os, socket, sys, threading
from pathway_local.sealing.launch import give_up_sockets, start_process

def can():
    try:
        socket.socket().close()
    except PermissionError:
        return "no"
    return "yes"

assert give_up_sockets() and give_up_sockets()  # a dialog does so, and then the command that it types
seen = []
thread = threading.Thread(target=lambda: seen.append(can()))
thread.start()
thread.join()
code = "import socket; socket.socket().close(); print('yes')"
engine = start_process([sys.executable, "-c", code], (), dict(os.environ), "/")
print(can(), *seen, engine.communicate()[0].decode().strip(), engine.returncode)
"""


def test_threads_give_up_sockets_and_engines_do_not() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["no", "no", "yes", "0"], done.stderr
