"""tritonclient's model control and metadata over gRPC."""

from __future__ import annotations

import pytest
import tritonclient.grpc as client_of
from tritonclient.grpc import service_pb2 as pb
from waiting import until

from .covering import rows
from .served import Line
from .served_models import config, connected, given, source


def test_models_are_loaded_and_unloaded(agree, beside):
    """The folder, another configuration and files in the request are used."""
    batching = (
        '{"backend": "python", "max_batch_size": 2, "input": [{"name": "X", '
        '"data_type": "TYPE_FP32", "dims": [-1]}], "output": [{"name": "Y", '
        '"data_type": "TYPE_FP32", "dims": [-1]}]}'
    )

    def case(target):
        with connected(beside(target), "same_fp32") as client:
            name, seen = "net_same_fp32", []
            client.unload_model(name)
            seen.append(client.is_model_ready(name))
            client.load_model(name)
            seen.append(client.is_model_ready(name, "1"))
            client.load_model(name, config=batching)
            config = client.get_model_config(name).config
            seen.append(config.max_batch_size)
            files = {"file:1/model.py": source("same").encode()}
            client.load_model("net_fresh", config=batching, files=files)
            seen.append(client.get_model_metadata("net_fresh", as_json=True))
            client.unload_model("net_fresh")
            client.unload_model(name, unload_dependents=True)
            seen.append(client.is_model_ready(name))
            return seen

    agree(case)


def test_a_busy_model_is_unloading(agree, scene):
    """Until it is idle; the server is not ready, and clients poll the index."""

    def case(target):
        with scene(target, "leaving", "", size=0) as asked, Line(asked.target) as wire:
            unload = pb.RepositoryModelUnloadRequest(model_name=asked.name)

            def row():
                index = wire.call("RepositoryIndex", pb.RepositoryIndexRequest())
                return [each for each in index["models"] if each["name"] == asked.name]

            asked.hold()
            found = [wire.call("RepositoryModelUnload", unload), row()]
            found.append(wire.call("ServerReady", pb.ServerReadyRequest()))
            asked.go()
            until(lambda: "UNLOADING" not in str(row()))
            return [*found, row(), asked.over()]

    agree(case)


def test_a_load_that_fails_says_why(agree, beside):
    """The error has as many details as Triton's."""

    def case(target):
        found = []
        with connected(beside(target), "same") as client:
            for name, options in (
                ("nope", {}),
                ("net_same", {"config": "bogus"}),
                ("net_same", {"files": {"file:1/model.py": b"x"}}),
            ):
                try:
                    client.load_model(name, **options)
                except client_of.InferenceServerException as error:
                    found.append([error.status(), error.message()])
        return found

    agree(case)


def test_the_server_describes_itself_and_its_models(agree, beside):
    """Configuration, metadata and statistics agree, except for measured times."""

    def case(target):
        with connected(beside(target), "described") as client:
            name = "net_described"
            server = client.get_server_metadata(as_json=True)
            rows = client.get_inference_statistics(name, as_json=True)["model_stats"]
            return [
                client.is_server_live(),
                server,
                client.get_model_metadata(name, as_json=True),
                client.get_model_config(name, as_json=True),
                [sorted(row) for row in rows],
                sorted(rows[0]["inference_stats"]),
            ]

    agree(case)


def counted(client, name, requests):
    """Return the statistics of a model, once Triton has counted a response."""

    def rows():
        return client.get_inference_statistics(name).model_stats

    until(lambda: rows()[0].inference_stats.success.count >= requests)
    return rows()


def test_what_is_counted_of_requests_agrees(agree, beside):
    """Durations are measured, counts are equal."""

    def case(target):
        with connected(beside(target), "counted") as client:
            for _ in range(3):
                client.infer("net_counted", given(1))
            rows = counted(client, "net_counted", 3)
            stats = rows[0].inference_stats
            counts = [stats.success.count, stats.queue.count, stats.fail.count]
            return [rows[0].inference_count, rows[0].execution_count, counts]

    agree(case)


def test_the_index_has_a_row_for_each_version(agree, beside):
    """All models of the repository are listed; loaded ones have a state."""

    def case(target):
        with connected(beside(target), "same") as client:
            rows = client.get_model_repository_index().models
            mine = [row for row in rows if row.name == "net_same"]
            return [[row.name, row.version, row.state, row.reason] for row in mine]

    agree(case)


@rows("r3.2/non-numeric-version-in-url")
@pytest.mark.parametrize(
    "version",
    [
        *("abc", "-1", "9", "0", "-x", "-0", "٣", "-٣"),
        pytest.param("0" * 120 + "9", id="zeros"),
    ],
)
def test_a_version_that_is_none_is_refused(agree, beside, version):
    """Every call with a version refuses it."""

    def case(target):
        with connected(beside(target), "same") as client:
            found = []
            for ask in (
                lambda: client.infer("net_same", given(1), model_version=version),
                lambda: client.get_model_metadata("net_same", version),
                lambda: client.get_model_config("net_same", version),
                lambda: client.get_inference_statistics("net_same", version),
                lambda: [client.is_model_ready("net_same", version)],
            ):
                try:
                    found.append(ask())
                except client_of.InferenceServerException as error:
                    found.append([error.status(), error.message()])
            return found

    agree(case)


def test_the_models_of_these_flows_are_complete():
    """A real server can load them."""
    assert "dims" in config("same_int8")
