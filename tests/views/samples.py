"""Sample runs for the tests of the views, the same on every machine."""

from __future__ import annotations

import functools

import numpy as np

from blsnb.request_fields import RequestFields
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import TensorRef, freeze
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, CallFlag, LogLine, ModelInfo
from blsnb.trace.lazy.call_fields import NAMES
from blsnb.trace.responses import ResponseLog
from blsnb.trace.spans import Trace

BASE_NS = 1_712_000_000_000_000_000
SHAPE_ERROR = (
    "Failed to process the request(s) for model instance 'crop_recognizer_0_1', "
    "message: TritonModelException: unexpected shape for input 'crops': "
    "expected [-1,3,48,320], got [0,3,48,320]"
)
CELL = """import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    async def execute(self, requests):
        pages = await self.decode(requests)
        return [self.answer(page) for page in pages]
"""


class Script:
    """Records calls at given times."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.models: dict[str, ModelInfo] = {}

    def model(self, name, backend="python", device="cpu", version=1, source=""):
        info = ModelInfo(name, version, backend, device, "model", source)
        self.models[name] = info

    def call(self, parent, model, at, queue, load, infer, output, flags=0, line=0):
        """One call: microseconds since the start, then of each phase."""
        call = Call(self.models[model], parent, len(self.calls))
        times = np.cumsum([at, 2, queue, load, infer, output, 3]).tolist()
        (
            call.request_start_ns,
            call.queue_start_ns,
            call.compute_start_ns,
            call.compute_input_end_ns,
            call.compute_output_start_ns,
            call.compute_end_ns,
            call.request_end_ns,
        ) = (BASE_NS + round(us * 1000) for us in times)
        call.instance, call.flags, call.line = f"{model}_0_0", int(flags), line
        call.execution = call.id + 1
        call.batch = 1
        self.calls.append(call)
        return call

    def trace(self, now_us=None, run_id="run-7f3a") -> Trace:
        end = max(call.request_end_ns for call in self.calls)
        now_ns = end if now_us is None else BASE_NS + round(now_us * 1000)
        return trace_of(run_id, self.calls, now_ns)


def fail(call, text, code="INTERNAL"):
    call.error, call.error_code = text, code
    call.flags |= int(CallFlag.ERROR)


def noise(shape, seed=1):
    """Numbers in [0, 1) from integer arithmetic alone: equal everywhere."""
    places = np.arange(int(np.prod(shape)), dtype=np.uint64) + np.uint64(seed * 7919)
    mixed = places * np.uint64(2654435761) % np.uint64(1 << 32)
    return (mixed.astype(np.float64) / 2**32).reshape(shape)


def tensor(name, datatype, values) -> TensorRef:
    row = BY_DATATYPE[datatype]
    return freeze(name, np.asarray(values, row.dtype), row)


def strings(name, *texts) -> TensorRef:
    return tensor(name, "BYTES", np.array([t.encode() for t in texts], np.object_))


def page():
    """A picture of a printed page: bands of dark dashes on light ground."""
    rows, columns = np.mgrid[0:224, 0:168]
    printed = (rows % 14 < 6) & (columns * 7919 % 168 < 150 - rows % 37)
    grey = np.where(printed, 60 + rows * columns % 60, 244).astype(np.uint8)
    picture = np.repeat(grey[:, :, None], 3, axis=2)
    picture[12:32, 16:68] = [38, 84, 150]
    return picture


def hill(rows=160, columns=160):
    y, x = np.mgrid[0:rows, 0:columns].astype(np.float64)
    near = 1 / (1 + ((y - 45) ** 2 + (x - 60) ** 2) / 900)
    return near + 0.7 / (1 + ((y - 110) ** 2 + (x - 100) ** 2) / 400)


@functools.cache
def invoice_run() -> Trace:
    """27 calls of 9 models: a fan-out, a stream, nested calls, three failures."""
    return _invoice()


@functools.cache
def edited_run() -> Trace:
    """The same after an edit: faster and slower, other answers, calls new and gone."""
    return _invoice(edited=True)


def _invoice(edited: bool = False) -> Trace:
    script = Script()
    script.model("invoice_pipeline", source=CELL)
    script.model("decode_image", "dali", "gpu:0")
    script.model("text_detector", "tensorrt", "gpu:0")
    script.model("crop_recognizer", "onnxruntime", "gpu:0")
    script.model("layout_model", "onnxruntime", "gpu:1")
    script.model("rerank")
    script.model("embedder", "onnxruntime", "gpu:1")
    script.model("llm_extract", "vllm", "gpu:1")
    script.model("schema_check")
    root = script.call(None, "invoice_pipeline", 0, 140, 60, 75900, 90)
    root.request_fields = RequestFields(request_id="7f3a")
    root.logs = [
        LogLine(BASE_NS + 250_000, "INFO", "page 1 of 1"),
        LogLine(BASE_NS + 71_000_000, "WARNING", "total_due failed, trying again"),
    ]
    root.notes = ["12 calls waited for the only instance of crop_recognizer."]
    decode = script.call(root, "decode_image", 420, 160, 210, 2900, 120, line=6)
    detecting = 5680 if edited else 9800
    detect = script.call(root, "text_detector", 3950, 900, 420, detecting, 260, line=6)
    layout = script.call(
        root, "layout_model", 4020, 2100, 380, 12400, 310, CallFlag.ASYNC, 6
    )
    crops = _crops(script, root)
    rerank = script.call(root, "rerank", 26270, 180, 70, 12250, 60, line=7)
    embeds = [
        script.call(rerank, "embedder", 26720 + 1990 * k, 240, 90, 1380 + 40 * k, 60)
        for k in range(6)
    ]
    extracting = 36600 if edited else 31000
    extract = script.call(
        root,
        "llm_extract",
        35080 + 4000 * (not edited),
        1500,
        240,
        extracting,
        900,
        CallFlag.DECOUPLED,
        7,
    )
    _stream(extract)
    checks = [
        script.call(root, "schema_check", 72950 + 960 * k, 90, 40, 620 + 90 * k, 40)
        for k in range(2 if edited else 3)
    ]
    if edited:
        script.model("audit")
        script.call(root, "audit", 75000, 40, 20, 410, 30, line=7)
    for check in checks[:1] if edited else checks[:2]:
        fail(check, "ValueError: field 'total_due': expected decimal, got '1.204,5O'")
    pixels = tensor("PIXELS", "FP32", np.moveaxis(page(), 2, 0)[None] / 255)
    scores = tensor("SCORE_MAP", "FP32", np.stack([hill(), hill().T, -hill()])[None])
    root.inputs = (
        tensor("IMAGE", "UINT8", page()[None]),
        strings("PROMPT", "Extract vendor and total. <script>alert(1)</script>"),
    )
    root.outputs = (strings("RESULT", '{"vendor":"Löwenbräu"}', '{"total":"1204.50"}'),)
    decode.inputs = (tensor("ENCODED", "UINT8", noise((1, 4096)) * 256),)
    decode.outputs = detect.inputs = layout.inputs = (pixels,)
    detect.outputs = (scores, tensor("BOXES", "FP32", noise((24, 4)) * 640))
    for k, crop in enumerate(crops):
        crop.inputs = (tensor("crops", "FP16", noise((2, 3, 16, 96), k) - 0.5),)
        if not crop.error:
            crop.outputs = (tensor("tokens", "INT64", noise((2, 24), k) * 96),)
    for k, embed in enumerate(embeds):
        embed.inputs = (strings("TEXT", "net 30 days", "Total due", "IBAN DE89"),)
        embed.outputs = (tensor("EMB", "FP16", noise((16, 96), k) - 0.5),)
    if edited:
        blurred = np.stack([hill(), hill().T, -hill()])[None]
        blurred[0, 1, 45, 60] -= 0.25
        detect.outputs = (tensor("SCORE_MAP", "FP32", blurred), *detect.outputs[1:])
        root.outputs = (root.outputs[0], tensor("SURE", "BOOL", [True]))
    gone = tensor("HIDDEN", "FP32", noise((8, 64)))
    layout.outputs = (gone.without_data(),)
    return script.trace(run_id="run-91c0" if edited else "run-7f3a")


def _crops(script, root):
    crops = []
    for k in range(12):
        queue, infer = 260 + k // 4 * 3050 + 20 * k, 2500 + 37 * (k * 5 % 12)
        at = 15830 + 55 * k
        flags = CallFlag.ASYNC
        if k == 9:
            crop = script.call(root, "crop_recognizer", at, queue, 0, 190, 0, flags, 7)
            # It failed while its inputs were collected: no later activity.
            crop.compute_input_end_ns = crop.compute_output_start_ns = 0
            crop.compute_end_ns = 0
            fail(crop, SHAPE_ERROR, "INVALID_ARG")
        else:
            crop = script.call(
                root, "crop_recognizer", at, queue, 200, infer, 110, flags, 7
            )
        crop.instance = f"crop_recognizer_0_{k % 4}"
        crops.append(crop)
    return crops


def _stream(call, count=46):
    step = (call.compute_end_ns - call.compute_input_end_ns) // count
    call.responses = ResponseLog(count, 1 << 20)
    for k in range(count):
        outputs = (strings("delta", f"token {k}"),) if k < count - 1 else ()
        call.responses.add(call.compute_input_end_ns + step * (k + 1), outputs, "")


def hostile_run() -> Trace:
    """Names, texts and values that are markup, controls or out of order."""
    script = Script()
    script.model("</script><img src=x onerror=alert(1)>", source="</script>")
    script.model("a\u202eb\x1b[31m\n\x00", device="<b>")
    script.model("lone \ud800 surrogate")
    script.model("w" * 400)
    root = script.call(None, "</script><img src=x onerror=alert(1)>", 0, 5, 5, 900, 5)
    root.request_fields = RequestFields(request_id='"><svg onload=alert(2)>')
    fail(root, "</script><script>alert(3)</script> \ud800 ]]> & \x08")
    for k, name in enumerate(list(script.models)[1:]):
        call = script.call(root, name, 100 + 200 * k, 1, 1, 90, 1)
        call.inputs = (strings("<i>\u202e", "</script>", "\x00"),)
        call.logs = [LogLine(call.request_start_ns, "INFO", "\ud800</script>")]
    return script.trace(run_id="</script>'\"")


def running_run(now_us=20_000) -> Trace:
    """The 27 calls as they stood at a moment: begun ones only, some still open."""
    done = invoice_run()
    script = Script()
    calls: dict[int, Call] = {}
    for span in done.spans:
        if span.request_start_ns > BASE_NS + now_us * 1000:
            continue
        call = Call(done.models[span.model], calls.get(span.parent), span.index)
        for activity in _TIMES:
            at = getattr(span, activity)
            setattr(call, activity, at if at <= BASE_NS + now_us * 1000 else 0)
        call.instance, call.flags = span.instance, int(span.flags)
        calls[span.index] = call
        script.calls.append(call)
    return script.trace(now_us)


_TIMES = (
    "request_start_ns",
    "queue_start_ns",
    "compute_start_ns",
    "compute_input_end_ns",
    "compute_output_start_ns",
    "compute_end_ns",
    "request_end_ns",
)


@functools.cache
def batch_run(size=10_000) -> Trace:
    """One caller, a fan-out of routers, each with a loop over ten models."""
    script = Script()
    names = ("tokenizer", "encoder", "decoder", "cache_lookup", "ranker", "embedder")
    names += ("guard", "llm", "detok", "metrics")
    for name in ("batch_eval", "router", *names):
        script.model(name, device="gpu:0" if name in names[1:8] else "cpu")
    draw = noise((size, 4)).tolist()
    root = script.call(None, "batch_eval", 0, 100, 50, 900_000, 80)
    at = 300.0
    while len(script.calls) < size - 24:
        first = len(script.calls)
        queue = 600 * draw[first][0]
        router = script.call(root, "router", at, queue, 60, 30_000, 50, CallFlag.ASYNC)
        upto = at + queue + 80
        for _ in range(6 + int(18 * draw[first][1])):
            one, two, three, four = draw[len(script.calls)]
            name = names[int(one * 10)]
            stream = CallFlag.DECOUPLED if name == "llm" else CallFlag(0)
            infer = 80 + 900 * three
            call = script.call(router, name, upto, 240 * two, 40, infer, 30, stream)
            if stream:
                _stream(call, 2 + int(40 * four))
            if four < 0.004:
                fail(call, "timeout", "UNAVAILABLE")
            upto += 240 * two + infer + 110
        router.request_end_ns = router.compute_end_ns = BASE_NS + round(upto * 1000)
        router.compute_output_start_ns = router.compute_end_ns
        at += 1600 * draw[first][3]
    while len(script.calls) < size:
        script.call(root, "metrics", at, 5, 5, 40, 5)
    root.compute_output_start_ns = root.compute_end_ns = root.request_end_ns = max(
        call.request_end_ns for call in script.calls
    )
    return script.trace()


def instant_run() -> Trace:
    """A call that took no time."""
    script = Script()
    script.model("instant")
    call = script.call(None, "instant", 0, 0, 0, 0, 0)
    for name in (name for name in NAMES if name.endswith("_ns")):
        setattr(call, name, call.request_start_ns)
    return script.trace()


def ensemble_run() -> Trace:
    """An ensemble of two steps, which computes nothing itself."""
    script = Script()
    script.model("reader", "ensemble")
    script.model("crop", "onnxruntime", "gpu:0")
    script.model("read", "onnxruntime", "gpu:0")
    whole = script.call(None, "reader", 0, 0, 0, 9000, 0)
    script.call(whole, "crop", 100, 50, 20, 3000, 20)
    script.call(whole, "read", 3400, 50, 20, 5000, 20)
    whole.compute_start_ns = whole.compute_input_end_ns = 0
    whole.compute_output_start_ns = whole.compute_end_ns = 0
    whole.instance = ""
    return script.trace()


def recorded(recorder, count):
    """A run of calls, each with eight bytes: call k of the root was sent k, twice."""
    outer, inner = (
        ModelInfo(name, 1, "python", "cpu", "model", "") for name in ("outer", "inner")
    )
    run = recorder.begin()
    root = recorder.open(run, outer, None)
    root.request_start_ns = 1
    for number in range(1, count + 1):
        call = recorder.open(run, inner, root)
        call.request_start_ns, call.request_end_ns = number, number + 1
        value = tensor("X", "FP32", [number, number])
        recorder.close(run, call, (value,), ())
    root.request_end_ns = count + 2
    recorder.end(run)
    return run
