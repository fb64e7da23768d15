"""Fixtures of the test suite: one `python` for each supported interpreter, and a `workshop` that records and checks the laws.

Owns: which versions run, the words for those that do not, and the failure when too few could.
"""

import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import interpreters
from built import bounce, late, masks, spin  # noqa: F401  (fixtures)
from compiled import cython_source, cythonized, throws  # noqa: F401  (fixtures)
from figures import figure  # noqa: F401  (fixture)
from interpreters import Interpreter
from ledger import append
from places import make_place
from recording import REPOSITORY, Workshop, binary
from runs_on import EVERYWHERE, deselect_elsewhere, left_out
from sittings import Sittings
from soak import SOAK
from stalls import stalls  # noqa: F401  (fixture)


class FailuresAtOnce:
    """Says what failed when it fails: a long run may be cut short, or its log. A line of JSON a test goes into the file named by GENBA_FAILED, and one of how
    long it took, with its fixtures, into that named by GENBA_TIMES (make/gate.py). At the end it names the tests of which nothing ran."""

    # Of its begin, and of its end, which is where a long one tells what was wrong.
    MESSAGE_CHARACTERS_MAX = (500, 1_500)

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.seconds: Counter[str] = Counter()
        # Without the parameters: whether any run of it was more than a skip.
        self.ran: dict[str, bool] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        # Workers of xdist hand their reports to the process that has the terminal.
        if terminal is None or os.environ.get("PYTEST_XDIST_WORKER"):
            return
        self.seconds[report.nodeid] += report.duration
        test = report.nodeid.partition("[")[0]
        self.ran[test] = self.ran.get(test, False) or (report.when == "call" and (not report.skipped or hasattr(report, "wasxfail")))
        if report.when == "teardown" and "GENBA_TIMES" in os.environ:
            append(Path(os.environ["GENBA_TIMES"]), {"test": report.nodeid, "seconds": round(self.seconds.pop(report.nodeid), 2)})
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            # A message begins with what the test shows, often the same for each of its assertions.
            message = self.both_ends(f"{Path(crash.path).name}:{crash.lineno}: {crash.message}" if crash else str(report.longrepr))
            if "GENBA_FAILED" in os.environ:
                append(Path(os.environ["GENBA_FAILED"]), {"test": report.nodeid, "message": message})
            terminal.write_line(f"\n{report.nodeid}, {report.when}: {message}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tests that all of their turns skipped: the table of what runs where may have given them none that they can take. And what it leaves out."""
        if not self.config.option.numprocesses:
            return
        only_skipped = sorted(test for test, ran in self.ran.items() if not ran)
        for title, tests in (("only skipped", only_skipped), ("left to make test-all", [] if EVERYWHERE else left_out())):
            if tests:
                terminalreporter.section(title)
            for test in tests:
                terminalreporter.write_line(test)

    def both_ends(self, message: str) -> str:
        first, last = self.MESSAGE_CHARACTERS_MAX
        return message if len(message) <= first + last else f"{message[:first]}\n…\n{message[-last:]}"


def keep_apart(config: pytest.Config) -> None:
    """What genba keeps for its next run lies in a folder of this session's: not in the developer's own, where another commit's may lie."""
    cache = tempfile.mkdtemp(prefix="genba-tests-cache-")
    os.environ["XDG_CACHE_HOME"] = cache
    config.add_cleanup(lambda: shutil.rmtree(cache, ignore_errors=True))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "measures: measures shares or times, or does much; `make soak` runs it in its long form, with nothing beside it")
    # A shell that starts the tests in the background has them ignore SIGINT, and every program they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(FailuresAtOnce(config))
    keep_apart(config)
    if SOAK and "GENBA_FIGURES" in os.environ:
        parts, versions = (os.environ.get(name, "").split() for name in ("PART", "VERSIONS"))
        config.pluginmanager.register(Sittings(Path(os.environ["GENBA_FIGURES"]), config.rootpath, parts, versions))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    deselect_elsewhere(config, items)


def pytest_report_header() -> list[str]:
    return [
        f"genba on CPython {one.version}: {one.path}" + (f" in {one.root}" if one.root else "")
        if isinstance(one, Interpreter)
        else f"genba on CPython {one.name}: SKIPPED, {one.why}"
        for one in interpreters.all_supported()
    ]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not interpreters.found_enough() and not os.environ.get("PYTEST_XDIST_WORKER"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not interpreters.found_enough():
        missing = [one.name for one in interpreters.all_supported() if isinstance(one, interpreters.Missing)]
        terminalreporter.write_line(
            f"error: CPython {', '.join(missing)} did not run\nhint: make prepare, and pyenv install 3.11 3.12 3.13", red=True
        )


def _parameters() -> list:
    return [
        pytest.param(one, id=one.name)
        if isinstance(one, Interpreter)
        else pytest.param(None, id=one.name, marks=pytest.mark.skip(reason=one.why))
        for one in interpreters.all_supported()
    ]


@pytest.fixture(scope="session", autouse=True)
def command() -> Path:
    assert binary().exists(), f"no {binary()}: make build"
    return binary()


@pytest.fixture(scope="session", params=_parameters())
def python(request: pytest.FixtureRequest) -> Interpreter:
    return request.param


@pytest.fixture(scope="session")
def sid_session(command: Path) -> Iterator[Path]:
    """The command and the programs, copied into the Debian sid once a session."""
    temporary = interpreters.sid_folder() / "tmp"
    temporary.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="genba-tests-", dir=temporary))
    # As mkdir makes it: some programs go on as another user.
    folder.chmod(0o755)
    shutil.copy2(command, folder / "genba")
    for name in ("tests/programs", "tests/verdicts", "tests/first_screen", "casebook", "python"):
        shutil.copytree(REPOSITORY / name, folder / name)
    (folder / "make").mkdir()
    # It runs a page of the casebook.
    shutil.copy2(REPOSITORY / "make/case.py", folder / "make")
    site_packages = REPOSITORY / "build/tools/site-packages"
    if site_packages.exists():
        shutil.copytree(site_packages, folder / "build/tools/site-packages")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def workshop(python: Interpreter, request: pytest.FixtureRequest) -> Iterator[Workshop]:
    """Records with `python`; when the test is done, both laws are checked for every recording it made."""
    made = Workshop(make_place(python, request, "workshop"))
    yield made
    made.check_laws()


@pytest.fixture(scope="module")
def module_workshop(python: Interpreter, request: pytest.FixtureRequest) -> Iterator[Workshop]:
    """Like `workshop`, for recordings that all tests of a file look at."""
    made = Workshop(make_place(python, request, "module"))
    yield made
    made.check_laws()


@pytest.fixture
def cold(workshop: Workshop) -> Workshop:
    """With a cache folder of its own, in which nothing lies yet."""
    workshop.place.cache = "cache"
    return workshop
