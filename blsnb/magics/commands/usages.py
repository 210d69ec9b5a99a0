"""Arguments and summaries of the subcommands of ``%triton``.

The help of ``%triton`` needs them before the module of a subcommand is imported.
"""

from __future__ import annotations

from blsnb.runtimes import NAMES

USAGES = {
    "models": "",
    "config": "NAME [--from-run [RUN ...]]",
    "load": "NAME [--watch]",
    "unload": "NAME",
    "remove": "NAME",
    "infer": "NAME INPUT=EXPRESSION ... [--profile]",
    "try": "NAME",
    "stats": "[NAME] [--batching | --json | --metrics]",
    "monitor": "[--url URL] [--metrics URL]",
    "graph": "[--as ensemble NAME]",
    "runtime": f"[{' | '.join(NAMES)}]",
    "log": "[NAME]",
    "help": "[SUBCOMMAND]",
    "import": "PATH [NAME ...] [--no-watch]",
    "export": (
        "PATH [NAME ...] [--deploy IMAGE] [--force] | --in-place [NAME ...] [--force]"
    ),
    "diff": "[NAME]",
    "edit": "NAME",
    "trace": "[RUN | FILE] [--run N] [--html | --svg | --perfetto | --output FILE]",
    "standin": (
        "NAME --zeros | --random SEED | --replay RUN ... | --call FUNCTION | "
        "--remote grpc://HOST:PORT"
    ),
    "bench": (
        "NAME INPUT=EXPRESSION ... [--concurrency N,N | --rate RATES] "
        "[--arrivals KIND] [--duration 5s] [--requests N] [--trace-level LEVEL]"
    ),
    "plan": (
        "NAME INPUT=EXPRESSION ... --rate RATES --p99 50ms [--instances MODEL=1..4] "
        "[--delay MODEL=0,500us,2ms] [--batch MODEL=1,4,8] [--cores N] "
        "[--sequence N] [--priorities 1=20%,2=80%] [--timeout TIME] "
        "[--target triton] [--server-url URL] [--check]"
    ),
    "evaluate": (
        "NAME ROWS [--metrics NAME,NAME] [--lower-is-better NAME,NAME] "
        "[--outputs NAMES] [--against MODEL] [--sequence KEY] [--batch N] [--keep N] "
        "[--workers N] [--server-url URL] [--resume FILE]"
    ),
    "serve": (
        "[--http PORT] [--grpc PORT] [--metrics PORT] [--host ADDRESS] [--allow-origin "
        "ORIGIN] [--allow-host NAME] [--allow-load-files] [--stop]"
    ),
    "verify": (
        "NAME INPUT=EXPRESSION ... [--target TARGET] [--cases FILE] [--install] "
        "[--atol N] [--rtol N]"
    ),
    "watch": (
        "[FILE] [--listen ADDRESS] [--port PORT] [--server URL] [--rate N] "
        "[--level LEVEL] [--count N] [--model NAME] [--id ID] [--slower-than MS] "
        "[--stop]"
    ),
    "require": "PACKAGE ... [--no-deps]",
    "tutorial": "[FOLDER] [--force]",
}
"""Arguments by subcommand."""
SUMMARIES = {
    "models": "list the models and their states",
    "config": (
        "print a model's completed configuration, or one that fits recorded tensors"
    ),
    "load": "load or reload a model; --watch: again whenever it is saved",
    "unload": "stop serving a model",
    "remove": "unload a model and forget it",
    "infer": "run a request; the inputs are Python expressions of the notebook",
    "try": "show a form to fill in a model's inputs and run it",
    "stats": (
        "show Triton's statistics of a model, or of all; its batches; or the metrics "
        "page"
    ),
    "monitor": "show the whole server live: models, rates, latencies, queues, errors",
    "graph": "show which model may call which; or a pipeline as an ensemble",
    "runtime": (
        "show the runtime of tensors; with a name, reload all models on that runtime"
    ),
    "log": "print what models have logged",
    "help": "show this text",
    "import": "load the models of a repository on disk, and follow their files",
    "export": "write a model repository for Triton, or cells back to their folders",
    "diff": "show what cells changed in imported models, against their folders",
    "edit": (
        "insert the model.py of a model as a cell, and print its other files as cells"
    ),
    "trace": "list recorded runs, show one, read one from a file, or write one",
    "standin": (
        "replace a model, for example one whose backend is not available, by a stand-in"
    ),
    "bench": "measure a model under load, with several clients at once",
    "plan": "find the fewest instances that hold a load, by simulation",
    "evaluate": (
        "evaluate a model on a data set; ROWS is a Python expression of the notebook"
    ),
    "serve": "serve the models to Triton clients, over HTTP and gRPC",
    "verify": (
        "send the same requests to a real Triton server, and compare the responses"
    ),
    "watch": "show the requests of a real Triton server live, or those of a file",
    "require": "check that packages are installed, or print how to install them",
    "tutorial": "copy the tutorial notebooks into a folder",
}
"""What each subcommand does, for its help."""
