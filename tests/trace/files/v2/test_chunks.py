"""Chunks of run files: they are read as packed, and damage is found."""

from __future__ import annotations

import ast
import io
import math
import sys
import zlib
from pathlib import Path

import pytest
from run_files import boundaries, chunks_of, file_of, json_of

from blsnb.trace.files.v2 import chunks
from blsnb.trace.files.v2.chunks import (
    MAGIC,
    ChunkReader,
    CutOffChunk,
    DamagedChunk,
    LargeChunk,
    json_float,
    json_pieces,
    packed,
    parsed,
)

LONG = {"text": "ab" * 4000, "numbers": list(range(200))}
FILE = file_of([("HEAD", {"a": 1}), ("CALL", LONG, b"\0body"), ("DONE", {})])


def read_all(data: bytes) -> list[str]:
    """Return the types of the chunks of a file, up to the first incomplete one."""
    reader = ChunkReader(io.BytesIO(data[len(MAGIC) :]), len(data))
    found = []
    try:
        while (chunk := reader.read()) is not None:
            found.append(chunk.type)
    except DamagedChunk as error:
        found.append(type(error).__name__)
    return found


def test_the_bytes_of_a_chunk_are_those_of_the_contract():
    """They are the signature, a little-endian header of 24 bytes, JSON and body."""
    expected = bytes.fromhex("89424c5352554e0a") + b"HEAD" + bytes(4)
    expected += (7).to_bytes(4, "little") + (2).to_bytes(8, "little")
    checksum = zlib.crc32(b'{"a":1}' + b"xy", zlib.crc32(expected[8:]))
    expected += checksum.to_bytes(4, "little") + b'{"a":1}' + b"xy"

    assert expected == file_of([("HEAD", {"a": 1}, b"xy")])


def test_chunks_are_read_as_they_were_packed():
    """Long JSON is compressed, the body never."""
    head, call, done = chunks_of(FILE)

    assert ({"a": 1}, LONG, {}) == (json_of(head), json_of(call), json_of(done))
    assert (0, 1, 0) == (head.flags, call.flags, done.flags)
    assert len(call.json) < 1000
    assert b"\0body" == call.body


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_float_without_a_number_in_json_is_a_text(value):
    """It is a string in a list; other floats are numbers."""
    [text] = json_float(value)

    assert repr(value) == repr(float.fromhex(text))
    assert 0.1 == json_float(0.1)
    with pytest.raises(ValueError, match="JSON"):
        packed("CALL", 0, {"a": value})


def test_every_cut_is_found():
    """Complete chunks are read; the rest is reported as cut off."""
    ends = [len(MAGIC), *boundaries(FILE)]
    names = ["HEAD", "CALL", "DONE"]
    for size in range(len(MAGIC), len(FILE)):
        whole = sum(end <= size for end in ends) - 1
        rest = [] if size in ends else ["CutOffChunk"]
        assert names[:whole] + rest == read_all(FILE[:size])


def test_every_changed_byte_is_found():
    """Reading stops there, and no changed value is returned."""
    ends = boundaries(FILE)
    for at in range(len(MAGIC), len(FILE)):
        for change in (1, 0x80):
            data = bytearray(FILE)
            data[at] ^= change
            *whole, last = read_all(bytes(data))
            assert sum(end <= at for end in ends) == len(whole)
            assert last in ("DamagedChunk", "CutOffChunk")


UNEQUAL = "a chunk whose checksum does not match its bytes"


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        (FILE[:-25], CutOffChunk, "the file ends in the middle of a chunk's header"),
        (FILE[:-1], CutOffChunk, "the file ends in the middle of a chunk"),
        (FILE[:-1] + b"]", DamagedChunk, UNEQUAL),
        (FILE[:-26] + bytes(26), DamagedChunk, "no header of a chunk"),
    ],
)
def test_damage_has_a_reason(data, kind, text):
    """It says whether the end of the file is missing."""
    reader = ChunkReader(io.BytesIO(data[len(MAGIC) :]), len(data))
    assert ["HEAD", "CALL"] == [reader.read().type, reader.read().type]
    with pytest.raises(DamagedChunk) as damage:
        reader.read()

    assert (kind, text) == (type(damage.value), str(damage.value))


def test_chunks_that_are_missing_repeated_or_exchanged_are_found():
    """Each has its number in the file."""
    parts = [packed(name, number, {}) for number, name in enumerate(["HEAD", "a", "b"])]

    def joined(*order: int) -> bytes:
        return MAGIC + b"".join(b"".join(parts[at]) for at in order)

    assert ["HEAD", "DamagedChunk"] == read_all(joined(0, 2))
    assert ["HEAD", "DamagedChunk"] == read_all(joined(0, 0))
    assert ["DamagedChunk"] == read_all(joined(1, 0))


def test_numbers_of_chunks_start_again():
    """A file may have any number of chunks."""
    reader = ChunkReader(io.BytesIO(b"".join(packed("note", 65_536, {}))), 1 << 20)
    reader._number = 65_536

    assert reader.read() is not None


def test_a_size_beyond_the_file_is_not_read():
    """A header may announce any size, and no memory is allocated for it."""
    data = bytearray(FILE)
    data[20:28] = (1 << 60).to_bytes(8, "little")
    reader = ChunkReader(io.BytesIO(bytes(data[8:])), len(data))

    with pytest.raises(CutOffChunk):
        reader.read()


def test_json_is_inflated_piece_by_piece(monkeypatch):
    """A reader can stop at its memory limit."""
    [part] = packed("CALL", 0, {"zeros": [0] * 200_000})
    chunk = ChunkReader(io.BytesIO(part), len(MAGIC) + len(part)).read()
    assert chunk is not None
    sizes = [len(piece) for piece in json_pieces(chunk)]
    assert max(sizes) <= 1 << 16
    assert 400_000 < sum(sizes)

    monkeypatch.setattr(chunks, "MAX_JSON", 100_000)
    told = r"^the JSON of a chunk is larger than 100,000 bytes$"
    with pytest.raises(LargeChunk, match=told):
        list(json_pieces(chunk))
    told = r"^CALL: [0-9]{3},[0-9]{3} bytes of JSON exceed 100,000$"
    with pytest.raises(LargeChunk, match=told):
        packed("CALL", 0, {"zeros": [0] * 200_000})


_END = "the compressed JSON of a chunk does not end where it should"


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (b"", _END),
        (zlib.compress(b"{}")[:-1], _END),
        (zlib.compress(b"{}") + b"x", _END),
        (b"no zlib", "Error -3 while decompressing data: incorrect header check"),
    ],
)
def test_json_with_wrong_compression_is_refused(stored, reason):
    """It may be cut off, followed by other data, or not compressed."""
    with pytest.raises(ValueError, match=rf"^{reason}$"):
        list(json_pieces(chunks.FileChunk("CALL", 1, stored, b"")))


def test_unknown_flags_are_refused():
    """Their meaning is unknown."""
    with pytest.raises(ValueError, match=r"^unknown flags 0x2$"):
        list(json_pieces(chunks.FileChunk("CALL", 2, b"{}", b"")))


@pytest.mark.parametrize("text", [b"NaN", b"[Infinity]", b"\xff", b"{", b""])
def test_invalid_json_is_refused(text):
    """NaN and infinities are refused, although Python's reader accepts them."""
    with pytest.raises(ValueError, match=r"\w"):
        parsed(text)
    with pytest.raises(ValueError, match=r"^-Infinity is not a number in JSON$"):
        parsed(b"[-Infinity]")


def test_the_framing_is_a_file_of_its_own_for_python_3_8():
    """A recorder copies it into the Python of a server."""
    source = Path(chunks.__file__).read_text()
    tree = ast.parse(source, feature_version=(3, 8))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    from_imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in imports for alias in node.names}
    names |= {(node.module or "").partition(".")[0] for node in from_imports}

    assert names <= sys.stdlib_module_names
    space: dict[str, object] = {"__name__": "copied"}
    exec(compile(source, "copied.py", "exec"), space)
    assert MAGIC == space["MAGIC"]
