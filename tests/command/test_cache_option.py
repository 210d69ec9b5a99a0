"""The response cache from the options of tritonserver, compared with the program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conformance.reference import real_environment

from blsnb.command.arguments import CommandError
from blsnb.command.serve import flags
from blsnb.command.server_options import server_arguments

CACHE = "--cache-config"
REFUSED = [
    *([f"{CACHE}=local,x"], [f"{CACHE}=local"], [f"{CACHE}="], [f"{CACHE}=,size=1"]),
    *([f"{CACHE}=local,size="], [f"{CACHE}=local,=1"], [f"{CACHE}=local,sizes=1"]),
    *([f"{CACHE}=local,size=x"], [f"{CACHE}=local,size=- 200"]),
    *([f"{CACHE}=local,size=191"], [f"{CACHE}=local,size=10x"]),
    *([f"{CACHE}=local,size=0x1000"], ["--response-cache-byte-size=0"]),
    *([f"{CACHE}=local,size=-1"], [f"{CACHE}=local,size={1 << 64}"]),
    [f"{CACHE}=local,size=4096", f"{CACHE}=local,size=x"],
    [f"{CACHE}=local,size=4096", f"{CACHE}=redis,host=h"],
    [f"{CACHE}=local,size=4096", "--response-cache-byte-size=4096"],
]


def cache_bytes(*words: str) -> object:
    """Return the size of the cache that options set."""
    return server_arguments(flags().parse_args(["models", *words]))["cache_bytes"]


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_options_are_refused_in_the_words_of_tritonserver(
    words: list[str], tmp_path: Path
) -> None:
    """Those of its parser, and those with which its cache does not start."""
    env = real_environment()
    paths = [f"--model-repository={tmp_path}", f"--cache-directory={env.caches}"]
    ended = subprocess.run(
        [str(env.server), *paths, *words],
        env=env.variables(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    *_, said = filter(None, ended.stderr.splitlines())
    with pytest.raises(CommandError) as failed:
        cache_bytes(*words)

    assert said.removeprefix("Error: ").removeprefix("error: ") == str(failed.value)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], 0),
        ([f"{CACHE}=local,size=192"], 192),
        ([f"{CACHE}=local,size= +0200.5"], 200),
        ([f"{CACHE}=local,size=4096,x=2"], 4096),
        ([f"{CACHE}=local,{each}" for each in ("x=1", "size=1", "size=400e1")], 400),
    ],
)
def test_the_size_is_read_as_c_does(words: list[str], expected: int) -> None:
    """Digits after blanks and a sign; the last size applies, other settings do not."""
    assert expected == cache_bytes(*words)
