"""A server of JupyterLab and Notebook 7, with a home that remembers nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType

from waiting import until

from blsnb.parity.triton.server_process import free_ports

from .panel_extension import install

TOKEN = "browser-tests"
_START_S = 120.0
_END_S = 20.0
_LAB = Path(__file__).with_name("forked_kernels.py")
_NO_NEWS = {"fetchNews": "false", "checkForUpdates": False}


class LabServer:
    """A process on loopback that serves a folder of notebooks; ended by its own id.

    Parameters
    ----------
    home
        An empty folder for its settings, and for the notebooks.
    panel
        Whether blsnb's panel is installed.
    """

    def __init__(self, home: Path, panel: bool = False) -> None:
        self.notebooks = home / "notebooks"
        self.notebooks.mkdir(parents=True)
        self._home = home
        self._settings = home / "settings"
        self._log = home / "server.log"
        (self._port,) = free_ports(1)
        self._write_settings()
        if panel:
            install(home / "data")
        else:
            self._disable_panel()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command(),
                env=self._environment(),
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> LabServer:
        try:
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def address(self, notebook: str) -> str:
        """Return where a notebook is opened, in a workspace that is empty."""
        return self._at(f"/lab/tree/{notebook}?reset&token={TOKEN}")

    def notebook_address(self, notebook: str) -> str:
        """Return where Notebook 7 opens it: a page with this notebook alone."""
        return self._at(f"/notebooks/{notebook}?token={TOKEN}")

    def console_address(self, name: str) -> str:
        """Return where Notebook 7 opens a console: a page with it alone."""
        return self._at(f"/consoles/{name}?token={TOKEN}")

    @property
    def front(self) -> str:
        """Where nothing is open yet."""
        return self._at(f"/lab?reset&token={TOKEN}")

    def close(self) -> None:
        """End the server, which ends its kernels."""
        self._process.terminate()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _at(self, path: str) -> str:
        return f"http://127.0.0.1:{self._port}{path}"

    def _command(self) -> list[str]:
        settings = {
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": self._port,
            "ServerApp.port_retries": 0,
            "ServerApp.root_dir": self.notebooks,
            "ServerApp.allow_root": True,
            "IdentityProvider.token": TOKEN,
            # A test can name a command instead of its menu.
            "LabApp.expose_app_in_browser": True,
            "JupyterNotebookApp.expose_app_in_browser": True,
            "LabApp.user_settings_dir": self._settings,
            "LabApp.workspaces_dir": self._home / "workspaces",
            "LabApp.extension_manager": "readonly",
        }
        given = [f"--{name}={value}" for name, value in settings.items()]
        return [sys.executable, str(_LAB), "--no-browser", *given]

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("JUPYTER")}
        return kept | {
            "HOME": str(self._home),
            "IPYTHONDIR": str(self._home / "ipython"),
            # A panel that an older wheel installed in the environment would win.
            "JUPYTER_PREFER_ENV_PATH": "0",
            "JUPYTER_CONFIG_DIR": str(self._home / "config"),
            "JUPYTER_DATA_DIR": str(self._home / "data"),
            "JUPYTER_RUNTIME_DIR": str(self._home / "runtime"),
        }

    def _write_settings(self) -> None:
        """Ask for no news: a question about it would lie over the notebook."""
        folder = self._settings / "@jupyterlab" / "apputils-extension"
        folder.mkdir(parents=True)
        (folder / "notification.jupyterlab-settings").write_text(json.dumps(_NO_NEWS))

    def _disable_panel(self) -> None:
        """Leave out a panel that is installed in the environment of the tests."""
        folder = self._home / "config" / "labconfig"
        folder.mkdir(parents=True)
        disabled = {"disabledExtensions": {"blsnb": True}}
        (folder / "page_config.json").write_text(json.dumps(disabled))

    def _wait_until_ready(self) -> None:
        until(lambda: self._ended() or self._answers(), _START_S, tick_s=0.1)
        if self._ended() or not self._answers():
            how = "ended" if self._ended() else f"does not answer in {_START_S:.0f} s"
            log = self._log.read_text(errors="replace")[-4000:]
            raise RuntimeError(f"the JupyterLab server {how}:\n{log}")

    def _ended(self) -> bool:
        return self._process.poll() is not None

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(self._at(f"/api?token={TOKEN}"), timeout=10):
                return True
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False
