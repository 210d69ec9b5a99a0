"""Figures of the attacks: what each of them sent, killed or interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

ATTACKS = {
    "churn": ["properties/test_churn.py::test_each_request_is_executed_once"],
    "interrupts of file operations": [
        "engine/loading/test_interrupted_changes.py::"
        "test_the_serving_version_is_that_of_the_folder",
        "engine/loading/test_interrupted_changes.py::"
        "test_ctrl_c_at_any_moment_once_and_twice",
        "parts/test_interrupted_folders.py::test_a_saved_model_replaces_its_copy_or_not",
        "parts/test_interrupted_folders.py::test_an_export_in_place_is_made_or_not",
        "repository/test_interrupts.py::test_a_change_is_made_or_not",
        "repository/test_interrupts.py::test_each_exported_model_is_the_old_or_the_new",
        "results/test_saving.py::test_ctrl_c_leaves_the_old_file_or_the_new",
    ],
    "kill -9": [
        "parity/test_killed_exports.py::test_every_model_is_served",
        "repository/test_kills.py::test_a_killed_export_leaves_whole_models",
        "repository/test_kills.py::test_a_killed_export_in_place_is_whole_or_nothing",
        "test_killed_saves.py::test_a_killed_save_leaves_the_old_file_or_the_new",
    ],
    "random trees against an oracle": [
        "properties/test_calls.py::test_thousands_of_trees_compute_what_plain_python_does"
    ],
    "damaged files": [
        "model/test_broken_texts.py::test_many_damaged_texts_are_parsed_or_refused",
        "trace/files/v2/test_broken_runs.py::test_broken_runs_are_read_or_refused",
        "trace/test_broken_traces.py::test_twenty_thousand_broken_files",
    ],
    "damaged messages": [
        "serving/grpc/test_fuzz.py::test_every_call_gets_a_status_for_long",
        "serving/http/test_fuzz.py::test_every_request_is_answered_for_long",
    ],
    "floods of streams and bodies": [
        "serving/test_floods.py::test_six_floods_at_once_take_six_times_the_limit",
        "serving/test_starvation.py::"
        "test_unread_streams_of_a_model_leave_room_for_others",
    ],
    "no thread or descriptor left": [
        "engine/test_thread_shortage.py::test_every_thread_may_fail_to_start",
        "serving/test_thread_shortage.py::test_every_thread_may_fail_to_start",
        "serving/test_real_limits.py::test_a_process_without_descriptors_continues",
    ],
    "hostile texts in a browser": ["browser/test_hostile.py::test_many_hostile_pages"],
}
"""The attacks that `make test-all` makes, and their tests."""
_NAME = "attack"
Figures = Callable[..., None]


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """Return a function that keeps the counts of an attack for the end of the run.

    `figures(requests=410_000, refused=12)`; the values of one test add up.
    """
    # The fixture `record_property` fails with --junitxml where warnings are errors.
    return lambda **counts: request.node.user_properties.append((_NAME, counts))


class AttackReport:
    """Lists the figures of all attacks at the end of a session."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Iterator[None]:
        """Write one line for each test, before the failures."""
        if lines := list(_lines(terminalreporter.stats)):
            terminalreporter.section("attacks")
        for line in lines:
            terminalreporter.line(line)
        yield


def _lines(stats: dict[str, list[object]]) -> Iterator[str]:
    """Yield a line for each test function; its parameters add up."""
    totals: dict[str, dict[str, int]] = {}
    for outcome in ("passed", "failed"):
        for report in stats.get(outcome, ()):
            if isinstance(report, pytest.TestReport) and report.when == "call":
                test = report.nodeid.partition("[")[0]
                for name, counts in report.user_properties:
                    if name == _NAME:
                        _add(totals.setdefault(test, {}), counts)
    for test, counts in sorted(totals.items()):
        found = ", ".join(f"{count:,} {what}" for what, count in counts.items())
        yield f"{test}: {found.replace('_', ' ')}"


def _add(total: dict[str, int], counts: object) -> None:
    assert isinstance(counts, dict)
    for what, count in counts.items():
        total[what] = total.get(what, 0) + count
