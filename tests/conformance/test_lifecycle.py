"""From a folder to a ready model: loads, their errors, and visible names."""

import json

import pytest

from .asking import ask, run, tensor
from .covering import rows
from .targets import REPOSITORIES, Request

BROKEN = sorted(folder.name for folder in REPOSITORIES.glob("broken_*"))
PYTHON_SPEAKS = {
    "broken_bytes",
    "broken_class_body",
    "broken_early_default",
    "broken_early_names",
    "broken_import",
    "broken_import_deep",
    "broken_indentation",
    "broken_syntax",
}


@rows(
    {
        "broken_initialize": "15.5/exception-in-constructor-initialize",
        "broken_constructor": "15.5/exception-in-constructor-initialize",
        "broken_exit": "15.5/sys-exit-3-in-initialize",
        "broken_constructor_arguments": "15.5/constructor-needs-arguments",
        "broken_initialize_arguments": "15.5/initialize-self-without-parameter",
        "broken_import": "15.5/import-error",
        "broken_syntax": "15.5/syntax-error",
        "broken_no_class": "15.5/no-class",
        "broken_name": "15.5/config-name-folder-name",
        "broken_complete_method": "15.1/short-lived-process-a-skipped-with",
        "broken_filename": "15.4/default_model_filename",
    }
)
@rows(
    {
        "broken_initialize": "r1.5/code-text-message-e-g-internal",
        "broken_no_version": "r1.1/no-usable-version-load-error-at",
        "broken_name": "r1.1/model-name-directory-name-name-in",
        "broken_complete_key": "r1.7/add_input-d",
        "broken_complete_missing": "r1.7/add_input-d",
        "broken_complete_conflict": "r1.7/same-name-in-config-other-type",
        "broken_complete_type": "r1.7/a-data-type-that-is-not",
    }
)
@pytest.mark.parametrize("model", BROKEN)
def test_a_load_fails_with_its_reason(agree, completing, model):
    """A model that cannot be loaded has a reason, and is unavailable."""

    def case(target):
        server = completing(target)
        return [server.load(model), ask(server, model)]

    agree(case, python_speaks=model in PYTHON_SPEAKS)


def test_a_failed_load_harms_no_other_model(agree):
    """Ready models serve after the failed load of another one."""

    def case(target):
        before = run(target, "see(1)")
        target.load("broken_initialize")
        return [before, run(target, "see(2)")]

    agree(case)


CONFIGURED = ["add", "batch", "bare", "completed", "echo", "repl", "reshaped"]


@pytest.mark.parametrize("model", CONFIGURED)
def test_the_configuration_is_normalised(agree, completing, model):
    """The JSON text of a loaded model's configuration is Triton's, to the letter."""

    def case(target):
        server = completing(target)
        return [server.load(model), server.config(model)]

    agree(case)


@rows(
    "15.2/model_config",
    "15.2/model_instance_kind",
    "15.2/model_instance_name",
    "15.2/model_instance_device_id",
    "15.2/model_repository",
    "15.2/model_version",
    "15.2/model_name",
    "r2.5/model_config",
    "r2.5/model_instance_kind",
    "r2.5/model_instance_name",
    "r2.5/model_instance_device_id",
    "r2.5/model_repository",
    "r2.5/model_version",
    "r2.5/model_name",
)
def test_initialize_gets_seven_texts(agree):
    """`args` has these keys, and all its values are texts."""
    agree(lambda target: run(target, "see(sorted(args.items()))"))


@rows("1/names")
def test_names_at_import_time(agree):
    """While model.py is imported, only the pure-Python names exist."""
    agree(lambda target: run(target, "see(names_at_import)"))


NAMES = {
    "names": 'see(sorted(n for n in dir(pb_utils) if not n.startswith("__")))',
    "module": "see(pb_utils.__name__)",
    "constants": """
        see([(name, spelled) for name in sorted(dir(pb_utils))
             if isinstance(spelled := getattr(pb_utils, name), int)])
        see([(name, np.dtype(kind).name, kind is bool)
             for name, kind in pb_utils.TRITON_STRING_TO_NUMPY.items()])
        """,
    "model's folder": "see(pb_utils.get_model_dir())",
    "classes": """
        for name in ["Tensor", "InferenceRequest", "InferenceResponse", "TritonError",
                     "TritonModelException", "Logger", "PreferredMemory"]:
            cls = getattr(pb_utils, name)
            see(repr(cls), cls.__name__, cls.__qualname__, cls.__module__)
            see([n for n in sorted(dir(cls)) if not n.startswith("_")])
        """,
}


@rows(
    {
        "names": "1/names",
        "constants": (
            "1/tritonserver_request_flag_sequence_start",
            "1/tritonserver_request_flag_sequence_end",
            "1/tritonserver_response_complete_final",
            "1/tritonserver_request_release_all",
            "1/tritonserver_request_release_reschedule",
        ),
        "model's folder": "13/get_model_dir",
    }
)
@pytest.mark.parametrize("code", NAMES.values(), ids=NAMES)
def test_names_at_run_time(agree, code):
    """Hooks see all names of the backend, with Triton's values."""
    agree(lambda target: run(target, code))


def test_the_embedded_module_is_whole_at_import_time(agree):
    """Its classes are those of requests and responses, and its BLS calls are made."""

    def case(target):
        target.load("add")
        return ask(target, "compiled_names", "SEEN")

    agree(case)


def test_names_of_the_embedded_module(agree):
    """Two names of Triton's internal code do not exist."""

    def theirs_alone(known, seen):
        lists = [json.loads(each[0]["outputs"][0][3][0]) for each in (known, seen)]
        internal = {"SharedMemory", "async_event_future_done_callback"}
        assert internal == set(lists[0]) ^ set(lists[1])

    agree(
        lambda target: [ask(target, "compiled_names", "NAMES")],
        deviates="`c_python_backend_utils` has `SharedMemory` and",
        ours=theirs_alone,
    )


def test_a_model_that_declares_itself_is_checked_like_any_other(agree, completing):
    """Requests are validated against the result of `auto_complete_config`."""

    def case(target):
        server = completing(target)
        good = ask(server, "completed", X=tensor([[1, 2]]))
        wrong = ask(server, "completed", X=tensor([[1, 2, 3]]))
        more = ask(server, "completed", X=tensor([[1, 2]]), Y=tensor([[1]], "int8"))
        return [good, wrong, more]

    agree(case)


def test_a_bare_model_takes_no_inputs(agree, completing):
    """A model without configuration serves requests that bring nothing."""

    def case(target):
        server = completing(target)
        asked = [ask(server, "bare"), ask(server, "bare", X=tensor([1]))]
        return [*asked, ask(server, "bare", "Y")]

    agree(case)


@rows(
    "15.1/one-process-per-instance-parallel",
    "15.1/ready-execute-requests-for-every-batch",
    "15.1/unload-server-stop",
    "15.4/isolation",
    "r1.4/load-of-a-not-loaded-model",
    "r3.2/model-known-but-no-ready-version",
)
def test_unloading_forgets(agree):
    """A model counts its requests, is unavailable once unloaded, and starts afresh."""

    def case(target):
        target.unload("counter")  # an earlier case may have counted
        counts = [ask(target, "counter") for _ in "12"]
        target.unload("counter")
        gone = target.infer(Request("counter"))
        return [*counts, gone, ask(target, "counter")]

    agree(case)


@rows("15.4/sibling-imports")
def test_files_beside_a_model_can_be_imported(agree):
    """Version and model folder are searched, also by late and relative imports."""
    agree(lambda target: ask(target, "siblings"))


@rows("15.4/default_model_filename")
def test_a_models_file_may_have_another_name(agree):
    """The configuration names it."""
    agree(lambda target: ask(target, "other_filename"))


def only_ours(known, seen):
    """Assert that both succeeded with different results."""
    assert 1 == len(known) == len(seen)


@rows("15.4/__name__-of-the-model-module")
def test_the_name_of_a_models_module(agree):
    """Triton calls it <version>.model; here each instance's has a name of its own."""
    code = """
    import sys
    names = [name for name, module in list(sys.modules.items())
             if getattr(module, "NAMES_AT_IMPORT", None) is names_at_import]
    see([name == "1.model" for name in names])
    """
    reason = "the module of a model is `<version>.model`, which is also its `__name__`"
    agree(lambda target: run(target, code), deviates=reason, ours=only_ours)


@rows("15.4/sys-path")
def test_the_path_of_modules(agree):
    """Triton appends the folders of version and model; here it stays the notebook's."""
    code = """
    import sys
    see([folder in sys.path for folder in (pb_utils.get_model_dir(),
                                           args["model_repository"])])
    """
    reason = "`sys.path` ends with the folders of the version and the model"
    agree(lambda target: run(target, code), deviates=reason, ours=only_ours)
