"""A real server with the recorder, for the tests of its recording."""

from __future__ import annotations

import pytest
from conformance.reference import required

from blsnb.parity.triton.environment import TritonEnv, installed

from .production import install, own_environment


@pytest.fixture(scope="session")
def recorded_env(tmp_path_factory) -> TritonEnv:
    """The installed server, whose models have the recorder in their environment."""
    env = installed()
    if env is None:
        if required():
            pytest.fail("run make triton first", pytrace=False)
        pytest.skip("no real Triton server here")
    own = own_environment(env, tmp_path_factory.mktemp("environment") / "env")
    install(own)
    return own
