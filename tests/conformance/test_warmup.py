"""Warm-up: the requests that models see, and errors that fail the load."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from blsnb import WouldHang

from . import elsewhere as servers
from .covering import rows
from .elsewhere import elsewhere
from .targets import Failure
from .warmups import ANSWER, BATCHING, DECOUPLED, HEAD, Warmed, loaded, sample

ONES = np.ones(9, np.float32).tobytes()
TEXTS = b"\1\0\0\0a\2\0\0\0bc\0\0\0\0"
ZERO = "FP32[3] zero"
FINAL = "pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL"
ERROR = 'pb_utils.InferenceResponse(error=pb_utils.TritonError("{}"))'
FEW = f"{BATCHING} instance_group {{ count: 2 kind: KIND_CPU }}"
TWICE = sample("batch_size: 2", X=ZERO)


@pytest.fixture
def folder(tmp_path_factory):
    """A fresh folder for each server."""
    return lambda: tmp_path_factory.mktemp("warmup")


def sending(lines, last="return None"):
    """Return the lines of an ``execute`` that sends with the requests' senders."""
    return f"""
        for request in requests:
            sender = request.get_response_sender()
            {lines}
        {last}
    """


LATER = (
    "threading.Thread(target=lambda sender: "
    f'(self.write("late"), sender.send(pb_utils.InferenceResponse([]), {FINAL})), '
    "args=[sender]).start()"
)
CONTROLS = " ".join(
    f'control_input {{ name: "{kind}" control {{ kind: CONTROL_SEQUENCE_{kind} '
    "int32_false_true: [ 0, 1 ] } }"
    for kind in ("START", "READY")
)
STATE = 'state { input_name: "SI" output_name: "SO" data_type: TYPE_FP32 dims: [ 2 ] }'
OTHERS = """
for name in ("one", "others"):
    asked = pb_utils.InferenceRequest(
        model_name=name, inputs=requests[0].inputs(), requested_output_names=["Y"]
    ).exec()
    self.write(asked.error().message() if asked.has_error() else "fine")
"""

SERVES = {
    "one": Warmed((sample(X=ZERO),)),
    "skipped": Warmed((sample("", X="[-1]"), sample("batch_size: 0", X="[-1]"))),
    "rounds": Warmed(
        (
            sample("batch_size: 1 count: 0", "a", X=ZERO),
            sample("batch_size: 3 count: 2", "a", X=ZERO),
        ),
        more=FEW,
    ),
    "random": Warmed(
        (sample("batch_size: 2 count: 2", X="INT32[3] random", A="INT32[3] random"),),
        more=BATCHING,
        inputs="X:INT32[3] A:INT32[3]",
    ),
    "no": Warmed((sample(X="FP32[3] no zero"),)),
    "random_no": Warmed((sample("batch_size: 1 count: 2", X="FP32[3] no random"),)),
    "file": Warmed((sample(X="FP32[3] f"),), files={"f": ONES}),
    "texts": Warmed(
        (
            sample(X="STRING[3] zero"),
            sample(X="STRING[3] random"),
            sample("batch_size: 2 count: 2", X="STRING[3] f"),
        ),
        more=BATCHING,
        inputs="X:STRING[3]",
        files={"f": TEXTS},
    ),
    "undeclared": Warmed((sample(X=ZERO, Q="FP64[2,1] zero", S="STRING[3] f"),)),
    "optional": Warmed((sample(X=ZERO),), inputs="X:FP32[3] O?:FP32[2]"),
    "reshaped": Warmed(
        (sample("batch_size: 2", X="FP32[1] zero"),),
        more=f'{BATCHING} input {{ name: "X" data_type: TYPE_FP32 dims: [ 1 ] '
        "reshape { shape: [ ] } }",
        inputs="",
    ),
    "batcher": Warmed(
        (TWICE,),
        more=f"{BATCHING} dynamic_batching {{ max_queue_delay_microseconds: 500000 }}",
    ),
    "cached": Warmed(
        (sample("batch_size: 1 count: 2", X=ZERO),),
        more="response_cache { enable: true }",
    ),
    "sequence": Warmed(
        (sample("batch_size: 2 count: 2", X=ZERO),),
        more=f"{BATCHING} sequence_batching {{ {CONTROLS} {STATE} }}",
    ),
    "controlled": Warmed(
        (sample(X=ZERO, START="INT32[1] zero", READY="FP32[1,2] zero"),),
        more=f"{BATCHING} sequence_batching {{ {CONTROLS} oldest {{ "
        "max_candidate_sequences: 4 } }",
    ),
    "iterative": Warmed(
        (sample("batch_size: 1 count: 2", X=ZERO),),
        more="sequence_batching { iterative_sequence: true }",
    ),
    "later": Warmed(
        (sample("batch_size: 1 count: 2", X=ZERO),), sending(LATER, "return [None]")
    ),
    "decoupled": Warmed(
        (sample("batch_size: 2 count: 2", X=ZERO),),
        sending("sender.send(pb_utils.InferenceResponse([])); " + LATER),
        more=f"{BATCHING} {DECOUPLED}",
    ),
    "others": Warmed((sample(X=ZERO),), f"{OTHERS}\n{ANSWER}"),
    "other_outputs": Warmed(
        (sample(X=ZERO),),
        'return [pb_utils.InferenceResponse([pb_utils.Tensor("Q", np.zeros(1))])]',
        outputs="Y:FP32[1] Z:FP32[1]",
    ),
}
SERVES["undeclared"].files["f"] = TEXTS


@rows(
    "15.1/model-warmup-requests-if-configured-through",
    "r2.2/model_warmup",
    "r4.7/batch_size-0-or-absent-sample-skipped",
    "r4.7/per-sample-max-count-1-rounds",
    "r4.7/zero_data-zeros-random_data-random-bytes-the",
    "r4.7/executed-on-every-instance-after-initialize",
    "r5.1/warm-up",
)
@pytest.mark.timeout(180)  # The real server loads twenty models.
def test_samples_are_executed_before_the_model_serves(agree, folder):
    """Each instance executes them, and statistics include them."""
    agree(lambda target: loaded(target, folder(), SERVES))


def refused(**inputs):
    return Warmed((sample(X=ZERO), sample("batch_size: 1", "bad", **inputs)))


REFUSED = {
    "variable": refused(X="FP32[-1] zero"),
    "no_data": refused(X="FP32[3]"),
    "short_file": Warmed((sample(X="FP32[3] f"),), files={"f": ONES[:4]}),
    "no_file": refused(X="FP32[3] nowhere"),
    "no_folder_out": refused(X="FP32[3] ../config.pbtxt"),
    "shape": refused(X="FP32[4] zero"),
    "rank": refused(X="FP32[1,3] zero"),
    "negative": refused(X="FP32[-2] zero"),
    "no_dims": refused(X="FP32 zero"),
    "type": refused(X="INT32[3] zero"),
    "no_type": refused(X="[3] zero"),
    "missing": refused(Q=ZERO),
    "nothing": refused(),
    "order": refused(A="FP32[3]", X="FP32[-1] zero"),
    "many_texts": Warmed(
        (sample(X="STRING[2] f"),), inputs="X:STRING[2]", files={"f": TEXTS}
    ),
    "few_texts": Warmed(
        (sample(X="STRING[3] f"),), inputs="X:STRING[3]", files={"f": TEXTS[:5]}
    ),
}


@pytest.mark.slow
@rows("r4.7/errors-stage-c-invalid-argument-model")
def test_a_wrong_sample_fails_the_load(agree, folder):
    """Before any sample is executed; initialized instances are finalized."""
    agree(lambda target: loaded(target, folder(), REFUSED))


SECOND = """
    if self.count == 2:
        raise ValueError("warm boom")
"""
FAILS = {
    "too_many": Warmed((sample("batch_size: 5", X=ZERO),), more=BATCHING),
    "no_batching": Warmed((TWICE,)),
    "raises": Warmed((TWICE,), 'raise ValueError("warm boom")', more=BATCHING),
    "second": Warmed(
        (sample(X=ZERO), sample(X=ZERO)), f"{SECOND}\n{ANSWER}", more=BATCHING
    ),
    "errors": Warmed(
        (TWICE,),
        f"return [{ERROR.format('a')}, {ERROR.format('b')}]",
        more=BATCHING,
    ),
    "one_error": Warmed(
        (TWICE,),
        f"return [pb_utils.InferenceResponse([]), {ERROR.format('b')}]",
        more=BATCHING,
    ),
    "no_list": Warmed((sample(X=ZERO),), "return 3"),
    "no_execute": Warmed((sample(X=ZERO),), source="class TritonPythonModel: pass"),
    "sent": Warmed(
        (TWICE,),
        sending(
            f"sender.send({ERROR.format('a')}); sender.send({ERROR.format('b')}); "
            f"sender.send(flags={FINAL})"
        ),
        more=f"{BATCHING} {DECOUPLED}",
    ),
    "decoupled_raises": Warmed(
        (sample(X=ZERO),),
        sending('sender.send(pb_utils.InferenceResponse([])); raise ValueError("b")'),
        more=DECOUPLED,
    ),
    "decoupled_returns": Warmed((sample(X=ZERO),), ANSWER, more=DECOUPLED),
    "cut_text": Warmed(
        (sample("batch_size: 2", X="STRING[3] f"),),
        inputs="X:STRING[3]",
        more=BATCHING,
        files={"f": TEXTS[:9] + b"\7\0\0\0x"},
    ),
    "undeclared_text": Warmed((sample(X=ZERO, S="STRING[4] f"),), files={"f": TEXTS}),
    "an_instance": Warmed(
        (sample(X=ZERO),),
        f'if self.name.endswith("1"): raise ValueError("boom")\n{ANSWER}',
        more=FEW,
    ),
}


@rows("r4.7/errors-stage-c-invalid-argument-model")
@pytest.mark.timeout(180)  # Fifteen real servers, some of which die and are replaced.
def test_an_error_in_a_warm_up_fails_the_load(agree, folder):
    """All errors of the round are reported; there is no further round."""
    # The real server may end in some of these cases; they are then repeated.
    agree(lambda target: loaded(target, folder(), FAILS, apart=True))


RESCHEDULE = (
    "requests[0].set_release_flags("
    "pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)\nreturn [None]"
)
NEVER = {
    "silent": Warmed((sample(X=ZERO),), "return [None]"),
    "endless": Warmed((sample(X=ZERO),), "return None", more=DECOUPLED),
    "again": Warmed(
        (sample(X=ZERO),),
        RESCHEDULE,
        more="sequence_batching { iterative_sequence: true }",
    ),
}


def test_an_answer_that_never_comes_keeps_the_model_loading(agree, folder, monkeypatch):
    """On Triton indefinitely; blsnb ends the load and names the missing response."""
    monkeypatch.setattr(servers, "CALL_S", 5.0)

    def ask(server, name):
        try:
            answer = server.load(name)
        except WouldHang as error:
            answer = Failure("WouldHang", error.message.partition(":")[0])
        states = [row.get("state", "") for row in server.index() if row["name"] == name]
        return [answer, states]

    def case(target):
        place = folder()
        for name, each in NEVER.items():
            each.put(place / "models" / name)
        with elsewhere(target, place) as server, ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(lambda name: ask(server, name), NEVER))
        return dict(zip(NEVER, answers, strict=True))

    def ours(known, seen):
        late = ["DEADLINE_EXCEEDED", "Deadline Exceeded"]
        assert [[late, ["LOADING"]]] * 3 == list(known.values())
        hang = ["WouldHang", "Triton would wait here forever"]
        assert [[hang, [""]]] * 3 == list(seen.values())

    agree(case, deviates="a sample that is never answered", ours=ours)


def test_the_head_is_that_of_every_model():
    """Line numbers in texts are equal."""
    assert HEAD.endswith("for request in requests])\n")
