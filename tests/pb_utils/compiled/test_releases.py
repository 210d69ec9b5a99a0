"""Specification of triton_release: the features of each release."""

import numpy as np
import pytest

from blsnb.errors import ModelLoadError
from blsnb.inference_server import Server
from blsnb.pb_utils.backend import UnboundBackend
from blsnb.pb_utils.compiled.releases import FEATURES, NEWEST, has, too_new
from blsnb.pb_utils.module import module
from blsnb.release import OLDEST

NOTHING = (
    "class TritonPythonModel:\n    def execute(self, requests):\n        return []\n"
)
CALLEE = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([]) for _ in requests]
"""
CALLER = """
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        answer = pb_utils.InferenceRequest(
            model_name="callee", inputs=[], requested_output_names=[]
        ).exec()
        kind = pb_utils.InferenceResponse
        saw = np.array([isinstance(answer, kind), hasattr(answer, "parameters")])
        return [kind([pb_utils.Tensor("SAW", saw)])]
"""
CALLER_CONFIG = 'output [{ name: "SAW" data_type: TYPE_BOOL dims: [2] }]'

SINCE = {
    "model_metrics": (24, 11),
    "response_parameters": (25, 2),
    "iterator_cancel": (25, 4),
    "bls_error_codes": (25, 4),
    "input_size_overflow": (25, 5),
    "json_depth_limit": (25, 5),
    "http_input_limit": (25, 5),
    "reserved_memory_keys": (25, 7),
    "reserved_memory_paths": (25, 8),
    "max_inflight_requests": (25, 12),
    "ensemble_waits_with_errors": (26, 2),
    "checked_stub_names": (25, 9),
    "checked_model_names": (25, 9),
    "is_ready": (26, 3),
    "json_size_limit": (25, 10),
    "inflated_size_limit": (26, 1),
    "unique_outputs": (26, 5),
    "index_ready_type": (26, 7),
    "class_count_limit": (26, 7),
    "named_memory_keys": (26, 7),
}


def modules_of(release):
    """Return both modules of a release."""
    backend = UnboundBackend()
    pb_utils = module.importing_module()
    compiled = module.compiled_module(backend, release)
    module.complete(pb_utils, compiled, backend)
    return pb_utils, compiled


def test_the_release_of_each_feature_is_that_of_the_real_server():
    """A model that follows an older one does not have it."""
    assert SINCE == {name: feature.since for name, feature in FEATURES.items()}


def test_the_oldest_release_has_no_row():
    """The table has the features between the oldest and the newest release."""
    assert all(OLDEST < feature.since <= NEWEST for feature in FEATURES.values())
    assert not any(has(feature, OLDEST) for feature in FEATURES)
    assert all(has(feature, NEWEST) for feature in FEATURES)


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_exists_from_its_release_on(feature):
    """Not in the month before; in its month and in the year after."""
    year, month = FEATURES[feature].since

    assert [False, True, True] == [
        has(feature, release)
        for release in [(year, month - 1), (year, month), (year + 1, 1)]
    ]


@pytest.mark.parametrize(
    ("feature", "name", "since"),
    [
        ("model_metrics", "model_metrics in a config.pbtxt", "24.11"),
        ("response_parameters", "parameters of an InferenceResponse", "25.02"),
        ("iterator_cancel", "cancel() of a ResponseIterator", "25.04"),
        ("max_inflight_requests", "max_inflight_requests of an ensemble", "25.12"),
        ("is_ready", "is_ready() of a model", "26.03"),
    ],
)
def test_a_note_names_a_missing_feature_and_its_release(feature, name, since):
    """It suggests doing without, or choosing a newer release."""
    assert (
        f"Triton has {name} since {since}, and triton_release is older. Do without it, "
        f"or set triton_release to {since} or newer and run the model on such a server."
    ) == too_new(feature)


def test_an_unknown_feature_is_an_error():
    """A typing mistake is not taken for a missing feature."""
    with pytest.raises(KeyError):
        has("everything", NEWEST)


@pytest.mark.parametrize("release", [OLDEST, (25, 1)])
def test_older_responses_have_no_parameters(release):
    """The argument fails with Triton's error, and the method is missing."""
    pb_utils, _ = modules_of(release)
    response = pb_utils.InferenceResponse([])

    with pytest.raises(TypeError) as refused:
        pb_utils.InferenceResponse(output_tensors=[], parameters={})
    with pytest.raises(AttributeError) as of_object:
        _ = response.parameters
    with pytest.raises(AttributeError) as of_class:
        _ = pb_utils.InferenceResponse.parameters

    assert (
        "__init__(): incompatible constructor arguments. The following argument types "
        "are supported:\n    1. c_python_backend_utils.InferenceResponse("
        "output_tensors: List[c_python_backend_utils.Tensor] = [], error: "
        "c_python_backend_utils.TritonError = None)\n\n"
        "Invoked with: kwargs: output_tensors=[], parameters={}"
    ) == str(refused.value)
    name = "c_python_backend_utils.InferenceResponse"
    assert f"'{name}' object has no attribute 'parameters'" == str(of_object.value)
    assert f"type object '{name}' has no attribute 'parameters'" == str(of_class.value)


@pytest.mark.parametrize(
    ("args", "kwargs", "is_noted"),
    [
        (([], None, {}), {}, True),
        (([], None), {"parameters": {}}, True),
        ((1, 2), {}, False),
        (([],), {"other": 1}, False),
    ],
)
def test_parameters_of_an_older_response_have_a_note(args, kwargs, is_noted):
    """Other wrong arguments have none."""
    with pytest.raises(TypeError) as refused:
        modules_of(OLDEST)[0].InferenceResponse(*args, **kwargs)

    notes = [too_new("response_parameters")] if is_noted else []
    assert notes == getattr(refused.value, "__notes__", [])


def test_older_responses_otherwise_equal_the_newest():
    """Outputs, errors and refusals, with the class's own name."""
    pb_utils, embedded = modules_of(OLDEST)
    tensor = pb_utils.Tensor("Y", np.zeros(2))
    error = pb_utils.TritonError("no")
    kind = pb_utils.InferenceResponse

    response = kind([tensor], error)
    with pytest.raises(
        TypeError, match="incompatible constructor arguments"
    ) as refused:
        kind(tensor)

    assert ([tensor], error) == (response.output_tensors(), response.error())
    assert "parameters" not in str(refused.value)
    assert "<class 'c_python_backend_utils.InferenceResponse'>" == repr(kind)
    assert embedded.InferenceResponse is kind


@pytest.mark.parametrize(
    ("release", "expected"), [(OLDEST, False), ((25, 3), False), ((25, 4), True)]
)
def test_iterators_can_be_cancelled_from_their_release_on(release, expected):
    """Earlier the method does not exist."""
    pb_utils, embedded = modules_of(release)
    iterator = embedded.ResponseIterator(pb_utils.InferenceResponse([]))

    assert expected is hasattr(iterator, "cancel")
    assert expected is hasattr(embedded.ResponseIterator, "cancel")
    assert expected is ("cancel" in dir(iterator))
    assert expected is ("cancel" in dir(embedded.ResponseIterator))
    assert 1 == len(list(iterator))


def test_an_iterator_over_one_response_starts_again_only_once_it_is_over():
    """iter() of one that has a response left returns the same position."""
    pb_utils, embedded = modules_of(NEWEST)
    response = pb_utils.InferenceResponse([])
    iterator = embedded.ResponseIterator(response)

    assert response is next(iterator)
    assert [] == list(iterator)
    assert [response] == list(iterator)


def test_the_default_is_the_newest_release():
    """All models share its classes, so that type checks agree."""
    plain, newest = module.unbound_modules()[0], modules_of(NEWEST)[0]

    assert plain.InferenceResponse is newest.InferenceResponse
    assert plain.InferenceResponse is not modules_of(OLDEST)[0].InferenceResponse


@pytest.mark.parametrize(
    ("name", "found"),
    [("a;b", ";"), ("a$b", "$"), ("(a;b", "( ;"), ("it's", "'"), ("what?", "?")],
)
def test_a_name_with_special_characters_of_a_shell_does_not_load(name, found):
    """The error names the characters."""
    with Server() as server, pytest.raises(ModelLoadError) as failed:
        server.define(name, NOTHING, config="")

    assert (
        f"load failed for model '{name}': version 1 is at UNAVAILABLE state: "
        "Invalid argument: Invalid stub name: contains invalid characters;\n"
    ) == failed.value.message
    assert (
        f"The name {name!r} has {found}, which a shell would act on. Rename the model, "
        "or its instance group."
    ) == failed.value.advice
    assert "create" == failed.value.stage


@pytest.mark.parametrize("release", ["24.10", None])
@pytest.mark.parametrize(("name", "group"), [("a b", ""), ("a\tb", ""), ("a", "g h")])
def test_a_name_with_white_space_does_not_load(name, group, release):
    """On Triton the load never ends; of an instance group it fails."""
    config = f'instance_group [{{ name: "{group}" kind: KIND_CPU }}]'

    loading = pytest.raises(ModelLoadError)
    with Server(triton_release=release) as server, loading as failed:
        server.define(name, NOTHING, config=config)

    shown = repr(f"{group}_0" if group else name)
    assert f"the name {shown} contains white space" in failed.value.message
    assert (
        "Triton's shell splits it, so that no load succeeds. Rename the model, or its "
        "instance group."
    ) == failed.value.advice
    assert "create" == failed.value.stage


def test_an_instance_group_with_such_a_name_does_not_load():
    """Its instances have its name."""
    config = 'instance_group [{ name: "a|b" kind: KIND_CPU }]'

    with Server() as server, pytest.raises(ModelLoadError) as failed:
        server.define("fine", NOTHING, config=config)

    assert "'a|b_0'" in failed.value.advice


@pytest.mark.parametrize("name", ["Model-1.2_x", "größe", "a+b=c,d%e@f^g"])
def test_other_names_load(name):
    """Letters of any language and other signs are accepted."""
    with Server() as server:
        server.define(name, NOTHING, config="")

        assert ["READY"] == [row["state"] for row in server.index()]


def test_older_releases_load_any_name():
    """The check came with 25.09."""
    with Server(triton_release="25.08") as server:
        server.define("a;b", NOTHING, config="")

        assert ["READY"] == [row["state"] for row in server.index()]


@pytest.mark.parametrize(
    ("release", "expected"), [("24.10", [True, False]), ("25.02", [True, True])]
)
def test_a_model_has_the_classes_of_the_servers_release(release, expected):
    """Responses of BLS calls have them, too."""
    with Server(triton_release=release) as server:
        server.define("callee", CALLEE, config="")
        server.define("caller", CALLER, config=CALLER_CONFIG)
        saw = server.infer("caller", {})["SAW"]

    assert expected == saw.tolist()
