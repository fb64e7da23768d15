"""What runs where: the CPythons that `make test` runs a test on. `make test-all` (GENBA_ALL=1) and `make soak` run each test on
those of all seven that it is for.

A row is a folder of `tests/`, a file or a test; the row nearest to a test counts. What reads CPython's own structures, of which each build has
others, runs on all seven, on one build of each kind, or on some in turn. What is decided after the recording is made runs on one. A row spreads
where the tests of a file take turns: the first runs on the first CPython of the row, the next on the next. So each CPython meets a part of the
file; where a row has more CPythons than the file has tests, some meet it in `make test-all` only. A test that skips itself on some CPythons needs a
row of the others.
Owns: that table. Never: skips a test that would run: what the table leaves out is deselected, and pytest counts it.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pytest

from interpreters import SUPPORTED
from soak import SOAK

EVERYWHERE = SOAK or os.environ.get("GENBA_ALL") == "1"

ALL = SUPPORTED
# An own build with symbols on an older glibc; Debian's, stripped, on the newest glibc; and BOLT's, with tail calls.
KINDS = ("3.13", "3.15", "3.14-standalone")
TWO = ("3.13", "3.15")
BOLT = ("3.14-standalone",)
# Those that are in no folder of their own, and meet the machine's compilers and tools.
IN_THE_OPEN = ("3.13", "3.14-standalone")
ONE = ("3.13",)
# Not in `make test`: it takes long, or what it needs does. Of a test or a file, never of a folder: a run of the whole lists these names at its end.
NOWHERE = ()


class Spread(NamedTuple):
    """Each test runs on `count` of these, in turn."""

    among: tuple[str, ...]
    count: int = 1


Row = tuple[str, ...] | Spread

# Names of all tests that were collected, also of those that are left out (tests/house/test_runs_on.py).
COLLECTED = pytest.StashKey[list[str]]()

TABLE: dict[str, Row] = {
    # CPython's structures, read in the process, from outside of it, or from its files.
    "tests/reading_cpython": ALL,
    "tests/reading_cpython/test_possible_stacks.py": Spread(ALL),
    # The others have their code's table of places in the form of these.
    "tests/reading_cpython/test_expressions.py": ("3.11", "3.13", "3.15", "3.14-standalone"),
    "tests/reading_cpython/test_standalone.py": BOLT,
    # The others have no JIT.
    "tests/reading_cpython/test_jit.py": Spread(("3.14", "3.15", "3.14-standalone"), 2),
    "tests/reading_cpython/test_bytes_slice.py": KINDS,
    "tests/reading_cpython/test_refused.py": KINDS,
    "tests/reading_cpython/test_thread_names.py": Spread(KINDS, 2),
    "tests/reading_cpython/test_snapshot.py": TWO,
    "tests/reading_cpython/test_snapshot.py::test_in_odd_places": KINDS,
    "tests/reading_cpython/test_possible_stacks_elsewhere.py": Spread(ALL),
    "tests/reading_cpython/test_possible_stacks_elsewhere.py::test_deep_c": Spread(("3.11-standalone", "3.12")),
    "tests/reading_cpython/test_possible_stacks_elsewhere.py::test_signals_in_python": Spread(("3.11", "3.14")),
    "tests/reading_cpython/test_possible_stacks_elsewhere.py::test_when_others_want_the_cpu": Spread(KINDS),
    # test_jit.py asks the same of the same programs, with fewer samples.
    "tests/reading_cpython/test_possible_stacks_elsewhere.py::test_jit": NOWHERE,
    "tests/reading_cpython/test_sub_interpreters.py": Spread(ALL),
    "tests/reading_cpython/test_sub_interpreters.py::test_an_interpreter_that_begins_anew": ("3.11", "3.13"),
    # 3.14-standalone is refused there, which two tests ask for, and the last test is skipped in the Debian sid.
    "tests/reading_cpython/loaded_later/test_loaded_later.py": Spread(TWO),
    "tests/reading_cpython/loaded_later/test_loaded_later.py::test_it_is_recorded_from_then_on": Spread(KINDS, 2),
    "tests/reading_cpython/loaded_later/test_loaded_later.py::test_few_descriptors_leave_it_no_room": ("3.13", "3.14-standalone"),
    # Of 3.12 the second test has nothing to ask.
    "tests/reading_cpython/test_deep_stacks.py": Spread(("3.12", "3.13", "3.15", "3.14-standalone")),
    # PyInstaller takes its time for each program, and Apache for its end.
    "tests/reading_cpython/loaded_later/test_loaded_later_by_others.py": NOWHERE,
    "tests/reading_cpython/loaded_later/test_loaded_later_by_others.py::test_the_plugin_of_uwsgi": ONE,
    "tests/reading_cpython/test_perf_trampolines.py": Spread(KINDS),
    "tests/reading_cpython/test_possible_stacks_elsewhere.py::test_cython": Spread(KINDS),
    "tests/reading_cpython/test_possible_stacks_elsewhere.py::test_packages": Spread(KINDS),
    "tests/reading_cpython/test_possible_stacks_elsewhere.py::test_trace_functions": Spread(KINDS),
    "tests/reading_cpython/test_sub_interpreters.py::test_more_interpreters_than_a_look_holds": Spread(KINDS),
    "tests/reading_cpython/test_sub_interpreters.py::test_more_interpreters_than_are_read": Spread(KINDS),
    "tests/reading_cpython/test_distribution.py": ONE,
    # The others have no JIT, or one through which the twin knows no way.
    "tests/reading_cpython/test_distribution.py::test_they_see_the_same_stacks_where_the_jit_is_on": ("3.15",),
    "tests/names": Spread(TWO),
    "tests/names/test_native_names.py::test_the_package_that_has_the_names": TWO,
    "tests/names/test_names_truth.py": ALL,
    "tests/names/test_names_truth.py::test_names_are_true": ("3.11", *KINDS),
    "tests/names/test_names_standalone.py": BOLT,
    "tests/names/test_kept_rows.py": Spread(KINDS),
    "tests/names/test_replaced_library.py": ONE,
    "tests/running": Spread(KINDS),
    "tests/running/test_attach.py::test_round_after_round_leaves_the_program_as_it_was": KINDS,
    "tests/running/test_attach.py::test_what_is_recorded_is_the_truth": TWO,
    "tests/running/test_attach_hostile.py::test_code_of_the_jit": ("3.15",),
    # In a build by BOLT genba looks at the threads for less long.
    "tests/running/test_attach_refused.py::test_more_threads_with_a_filter_than_one_stop_asks": ("3.13", "3.14-standalone"),
    # Each is for two: those that can be asked, and those that cannot.
    "tests/running/test_attach_forbidden.py": ("3.13", "3.14", "3.15", "3.14-standalone"),
    "tests/running/test_attach_killed.py::test_killed_at_each_step_of_the_entry": TWO,
    "tests/running/test_attach.py::test_a_traced_process_is_asked_where_its_python_can_be": ("3.15",),
    "tests/running/test_attach.py::test_a_signal_that_comes_while_the_script_runs_is_the_program_s": ("3.14", "3.15"),
    "tests/running/test_attach.py::test_who_does_not_come_to_run_python_code_is_not_waited_for_without_end": NOWHERE,
    "tests/running/test_attach.py::test_who_is_asked_and_ends_before_it_answers": BOLT,
    "tests/running/test_attach.py::test_the_main_thread_is_asked_where_no_thread_can_be_used": BOLT,
    "tests/running/test_attach.py::test_a_python_that_bears_signals_only_on_another_stack": BOLT,
    "tests/running/test_attach.py::test_a_thread_that_gets_a_filter_during_the_recording": BOLT,
    "tests/running/test_attach.py::test_whoever_is_asked_gives_the_agent_s_own_reason": TWO,
    "tests/running/test_dump.py": ALL,
    # In the Debian sid it is skipped.
    "tests/running/test_dump.py::test_a_core_file": Spread(("3.11", "3.12", "3.13", "3.11-standalone", "3.14-standalone"), 2),
    "tests/running/test_dump.py::test_c_frames": KINDS,
    "tests/running/test_dump.py::test_no_verified_stack_is_impossible": Spread(KINDS),
    "tests/running/test_dump.py::test_threads_that_do_the_same_are_one_paragraph": ONE,
    "tests/running/test_typed_text.py::test_dump_shows_the_text_of_a_cell_and_none_that_may_be_another": ALL,
    "tests/command/test_top.py": ONE,
    "tests/command/test_top.py::test_keys_against_a_program_that_runs": NOWHERE,
    "tests/command/test_top_keys.py": ONE,
    "tests/running/test_ps.py": ONE,
    "tests/running/test_ps.py::test_a_process_that_waits_and_one_that_is_stopped": KINDS,
    "tests/running/test_doctor.py": ONE,
    "tests/running/test_doctor.py::test_another_clock_source_of_this_machine": NOWHERE,
    # genba waits 20 s for it.
    "tests/running/test_doctor.py::test_a_preloaded_library_that_hangs_is_not_waited_for": NOWHERE,
    "tests/running/test_doctor.py::test_what_genba_may_do_to_a_process": KINDS,
    "tests/running/test_doctor.py::test_a_build_is_told_by_its_own_configuration": ("3.13", "3.14-standalone"),
    "tests/running/test_doctor.py::test_a_build_is_what_the_interpreter_itself_has": ("3.13", "3.14-standalone"),
    "tests/memory": Spread(ALL),
    "tests/memory/test_heap_sizes.py::test_each_class_takes_what_cpython_says": ALL,
    "tests/memory/test_heap_refs.py::test_each_way_to_an_object_is_named": ("3.11", "3.15"),
    "tests/memory/test_heap_truth.py": ALL,
    "tests/memory/test_alloc.py": KINDS,
    "tests/memory/test_copies.py": Spread(KINDS),
    "tests/memory/test_copies.py::test_numpy": KINDS,
    "tests/memory/test_heap_ways.py": Spread(KINDS),
    "tests/memory/test_heap_harm.py": Spread(KINDS),
    "tests/memory/test_heap_harm.py::test_a_copy_asks_no_allocator": KINDS,
    "tests/memory/test_heap_live.py": Spread(KINDS),
    "tests/memory/test_gc.py::test_collections_are_those_of_the_interpreter_s_own_ring": ("3.15",),
    "tests/memory/test_gc_cases.py": TWO,
    "tests/memory/test_gc_cycles.py::test_a_long_circle": TWO,
    "tests/memory/test_gc_out_of_band.py": ONE,
    "tests/memory/test_gc_try.py": ONE,
    # libc, the kernel, signals.
    "tests/harmless": Spread(KINDS),
    "tests/harmless/processes/test_after_forks.py": Spread(KINDS),
    "tests/harmless/processes/test_after_forks.py::test_each_state_while_genba_is_attached": Spread(TWO),
    # The kernel and the loader decide. Those in a root of their own skip it.
    "tests/harmless/processes/test_capabilities.py": ONE,
    "tests/harmless/processes/test_cpython.py": Spread(TWO),
    "tests/harmless/processes/test_harmless.py::test_an_embedded_interpreter_that_is_not_there_yet_or_any_more": IN_THE_OPEN,
    "tests/harmless/surroundings/test_other_loaders.py": Spread(IN_THE_OPEN),
    "tests/harmless/processes/test_privileges.py::test_while_genba_is_attached": Spread(TWO),
    "tests/harmless/processes/test_processes.py": Spread(IN_THE_OPEN),
    # Django's tests need 3.13, which has the first, the third, … of its programs.
    "tests/harmless/processes/test_real_programs.py": Spread(IN_THE_OPEN),
    # Their short forms are skipped elsewhere.
    "tests/harmless/surroundings/test_seccomp.py::test_a_filter_of_a_wrapper": ONE,
    "tests/harmless/surroundings/test_seccomp.py::test_a_filter_of_its_own": ONE,
    "tests/harmless/surroundings/test_stops.py": ("3.15",),
    "tests/harmless/processes/test_forks.py::test_a_fork_that_finds_the_sampler_held_up": ONE,
    "tests/harmless/processes/test_forks.py::test_a_thread_that_holds_the_linker_s_lock": TWO,
    "tests/harmless/processes/test_forks.py::test_a_message_queue_still_tells_after_a_fork": ONE,
    "tests/harmless/processes/test_forks.py::test_the_thread_that_forks_does_not_wait_for_a_file_server": ONE,
    # The others get no stacks of genba's.
    "tests/harmless/signals/test_alternates.py": BOLT,
    "tests/harmless/signals/test_cut_writes.py::test_handlers_run_where_they_would": BOLT,
    "tests/harmless/signals/test_faults.py::test_memory_that_is_broken": ONE,
    "tests/harmless/signals/test_handlers.py::test_a_handler_leaves_a_call_that_waits_for_the_sampler": ONE,
    "tests/harmless/signals/test_job_control.py::test_ctrl_z_without_genba": ONE,
    "tests/package": Spread(TWO),
    "tests/package/test_api.py::test_a_piece_of_the_program": KINDS,
    "tests/package/test_api.py::test_decorated": TWO,
    "tests/package/test_api_harm.py": Spread(KINDS),
    "tests/package/test_api_interrupted.py": Spread(KINDS),
    "tests/package/test_api_replacing.py": ONE,
    "tests/package/test_recipe_of_celery.py": ONE,
    "tests/package/test_recipe_of_docker.py": ONE,
    "tests/package/test_recipes.py": ONE,
    "tests/package/test_recipes_of_programs.py": ONE,
    "tests/package/test_wheel.py::test_python_m_genba_runs_with_its_own_interpreter": ("3.11", *KINDS),
    "tests/ends": Spread(TWO),
    "tests/ends/test_launchers.py::test_a_pyenv_shim": ONE,
    "tests/ends/test_launchers.py::test_what_is_left_out_of_pidfd_spawn_is_handed_on": ("3.15",),
    "tests/ends/test_interrupts.py": ONE,
    "tests/ends/test_gunicorn.py::test_workers_that_time_out": NOWHERE,
    "tests/ends/test_nothing_lost.py": ONE,
    "tests/ends/test_server_signals.py": ONE,
    "tests/ends/test_first_process.py": ONE,
    # How often is looked, and what is counted.
    "tests/sampling": ONE,
    # Others here and in test_laws_under_force.py ask for a rate and keep it; test_budget.py has the rate that sinks.
    "tests/sampling/test_budget.py::test_a_rate_that_was_asked_for_stays": NOWHERE,
    "tests/sampling/test_laws_under_force.py::test_a_rate_that_sinks": NOWHERE,
    # Two tests, so that each kind has one.
    "tests/sampling/test_bias.py": Spread(KINDS, 2),
    "tests/sampling/test_laws_under_force.py::test_stale_pointers": Spread(KINDS, 2),
    "tests/sampling/test_threads.py::test_sleepers_show_wall_time_and_system_call": KINDS,
    "tests/sampling/test_threads.py::test_who_holds_the_lock_is_said": KINDS,
    "tests/sampling/test_repeat.py": Spread(TWO),
    # What is decided after the recording is made.
    "tests/rules": ONE,
    # A dozen servers and more, of which each waits for its requests for five seconds.
    "tests/rules/test_servers.py": NOWHERE,
    # In 3.11 and 3.12 each in its own way, the current frame is found by way of the eval loop.
    "tests/rules/test_verdict.py::test_a_recursion_that_is_deeper_than_a_sample_holds": ("3.11", "3.12", "3.13"),
    "tests/rules/test_asyncio.py": Spread(TWO),
    "tests/rules/test_asyncio.py::test_the_tree_begins_at_what_the_loop_runs": TWO,
    "tests/command": ONE,
    "tests/comparing": ONE,
    # What each version's cProfile counts is the truth; the rest is alike but between 3.11 and those with sys.monitoring.
    "tests/counting": ("3.11", "3.13", "3.15"),
    "tests/counting/test_mask_case.py": TWO,
    "tests/counting/test_trace_awaits.py": ("3.11", *KINDS),
    "tests/counting/test_trace.py::test_random_programs": ONE,
    "tests/counting/test_trace.py::test_times_are_those_of_the_program_s_own_clock": NOWHERE,
    "tests/counting/test_trace.py::test_children_write_their_own_files": ONE,
    "tests/counting/test_trace.py::test_modules_streams_and_exit_codes": TWO,
    "tests/counting/test_trace.py::test_a_program_that_changes_its_directory_leaves_the_counts_where_genba_began": ONE,
    "tests/counting/test_beside.py": ("3.11", "3.13"),
    "tests/counting/test_beside.py::test_a_program_that_profiles_itself_keeps_its_profile": ("3.11", "3.13", "3.15"),
    "tests/counting/test_beside.py::test_a_program_under_its_own_debugger": ("3.11", "3.13", "3.15"),
    "tests/counting/test_trace_corpus.py": Spread(("3.11", "3.13", "3.15")),
    "tests/counting/test_trace_cpython.py": ONE,
    "tests/counting/test_trace_views.py": ONE,
    "tests/counting/test_readers.py": ONE,
    "tests/counting/test_trace.py::test_the_table_is_cprofile_s": ONE,
    "tests/counting/test_trace.py::test_what_cannot_be_done_is_refused": ONE,
    "tests/cases": ONE,
    "tests/cases/test_casebook.py::test_the_page_is_true": TWO,
    "tests/cases/test_casebook.py::test_exchanged_programs_prove_nothing": NOWHERE,
    "tests/cases/test_clock_case.py::test_the_page_with_another_clock_source": NOWHERE,
    "tests/serve": ONE,
    "tests/serve/test_serving.py::test_a_search_counts_to_a_thousand": NOWHERE,
    # The server waits for a minute and a half.
    "tests/serve/test_crowds.py::test_readers_who_take_nothing_give_their_room_back": NOWHERE,
    # And here for five.
    "tests/serve/test_crowds.py::test_a_follower_who_takes_nothing_is_let_go": NOWHERE,
    "tests/serve/test_several_servers.py": NOWHERE,
    "tests/serve/test_one_address.py": NOWHERE,
    "tests/serve/test_openapi.py::test_schemathesis_finds_nothing": NOWHERE,
    "tests/house": ONE,
    # It collects the tests of `make soak`, of which alone it asks something.
    "tests/house/test_sittings.py::test_every_test_with_a_long_form_is_in_the_plan": NOWHERE,
    "benches": ONE,
    # It asks of the bench, and nothing of genba.
    "benches/test_bench.py::test_one_round_of_two_works": NOWHERE,
}


def names_of(nodeid: str) -> Iterable[str]:
    """A test's own name in the table, its file's and its folders', the nearest first."""
    test = nodeid.partition("[")[0]
    yield test
    path = test.partition("::")[0]
    while path:
        yield path
        path = path.rpartition("/")[0]


def runs_on(nodeid: str) -> Row:
    return next((TABLE[name] for name in names_of(nodeid) if name in TABLE), ALL)


def left_out() -> list[str]:
    """The tests and files that `make test-all` alone runs."""
    return [name for name, row in TABLE.items() if row == NOWHERE]


def deselect_elsewhere(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of no particular CPython run wherever pytest runs."""
    config.stash[COLLECTED] = [item.nodeid for item in items]
    if EVERYWHERE:
        return
    chosen = chosen_of(items)
    kept, left_out = [], []
    for item in items:
        version = version_of(item)
        where = runs_on(item.nodeid) if version is None else chosen[test_of(item)]
        (kept if version in where or (version is None and where) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def test_of(item: pytest.Item) -> tuple[str, ...]:
    """The test with all of its parameters but the CPython."""
    call = getattr(item, "callspec", None)
    return item.nodeid.partition("[")[0], *(part for part in getattr(call, "_idlist", ()) if part not in SUPPORTED)


def chosen_of(items: list[pytest.Item]) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """On which CPythons each test runs. A test that names CPythons of its own takes its turn among those."""
    there: dict[tuple[str, ...], list[str]] = {}
    for item in items:
        if (version := version_of(item)) is not None:
            there.setdefault(test_of(item), []).append(version)
    turns: Counter[str] = Counter()
    chosen = {}
    for test, versions in there.items():
        row, file = runs_on(test[0]), test[0].partition("::")[0]
        if isinstance(row, Spread):
            names = [name for name in row.among if name in versions]
            row = tuple(names[(turns[file] + number) % len(names)] for number in range(min(row.count, len(names))))
            turns[file] += 1
        chosen[test] = row
    return chosen


def version_of(item: pytest.Item) -> str | None:
    """By the fixture's id: where a CPython is missing on this machine, its parameter is None."""
    call = getattr(item, "callspec", None)
    if call is None or "python" not in call.params:
        return None
    return next(part for part in call._idlist if part in SUPPORTED)
