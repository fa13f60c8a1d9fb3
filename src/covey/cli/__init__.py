"""The command line: each command parses, makes one call, and renders.

Exit codes: 0 success; 1 the answer is no; 2 a wrong call or bad input; 3 stopped safely, can resume;
4 a peer or an identity was refused, or a peer broke the protocol. An error of ours, which should not happen, is 70.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

import typer

from covey.addresses import has_password
from covey.cli import collect, data, hierarchy, keys
from covey.cli.anonymize import anonymize
from covey.cli.bench import bench
from covey.cli.check import check, doctor
from covey.cli.evaluate import evaluate
from covey.cli.folders import audit, export, forget, report
from covey.cli.new import new
from covey.cli.plan import plan
from covey.cli.protocols import protocols
from covey.cli.run import run
from covey.cli.servers import authority, relay, ui
from covey.cli.simulate import demo, simulate
from covey.cli.verify import verify
from covey.errors import CoveyError, InputError
from covey.plain import plain_lines
from covey.version import __version__

_MADE = 100_000
"""Objects after which garbage is looked for: loading a command makes many, and none of them is."""

_BEGIN = """Covey k-anonymizes a table that no one may pool.

One owner begins with: covey new DATA, then covey anonymize and covey verify.
Several begin with: covey demo, then covey new DATA DATA DATA, covey keys new, covey check, covey run.
"""

_COMMANDS: dict[str, tuple[Callable[..., object], ...]] = {
    "Begin": (demo, new, check),
    "One owner": (anonymize, verify, evaluate, export, report),
    "Several owners": (plan, simulate, run, audit, forget),
    "Learn and compare": (protocols, bench, doctor, ui),
}
_GROUPS = {
    "Several owners": {"keys": keys.app, "relay": relay, "authority": authority},
    "Respondents": {"collect": collect.app},
    "Learn and compare": {"hierarchy": hierarchy.app, "data": data.app},
}

app = typer.Typer(
    name="covey",
    help=_BEGIN,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _panel, _commands in _COMMANDS.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
for _panel, _groups in _GROUPS.items():
    for _name, _group in _groups.items():
        app.add_typer(_group, name=_name, rich_help_panel=_panel)

_OURS = 70


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        typer.echo(f"covey {__version__}")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with the code that says how it ended."""
    gc.set_threshold(_MADE)
    try:
        if any(map(has_password, sys.argv[1:] if arguments is None else arguments)):
            raise InputError(
                "an address with a password or a token stands in the list of processes, where others read it; leave it "
                "out, and use ~/.pgpass, a service, PGPASSWORD or SPARK_CONNECT_AUTHENTICATE_TOKEN"
            )
        app(arguments, obj=arguments is None)  # commands know if the process is theirs
    except CoveyError as error:
        _say(str(error))
        sys.exit(error.exit_code)
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # `covey … | head`: the reader has seen enough
            _hush()
            sys.exit(0)
        if end.code == InputError.exit_code:
            _say_successor(sys.argv[1:] if arguments is None else arguments)
        raise
    except BrokenPipeError:
        _hush()
        sys.exit(0)
    except OSError as error:
        if error.filename is None:
            _report(error)
        _say(f"{error.filename}: cannot be used ({error.strerror}); check the path and its permissions")
        sys.exit(InputError.exit_code)
    except Exception as error:
        _report(error)


def _report(error: Exception) -> NoReturn:
    """Ends with an error of ours, and tells only where it happened."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    _say(f"an error of ours ({type(error).__name__} in {frame.name}, line {frame.lineno}); please report it")
    if os.environ.get("COVEY_DEBUG"):
        traceback.print_exc()
    else:
        _say("set COVEY_DEBUG=1 to see the details; they may quote cells of your data")
    sys.exit(_OURS)


def _say_successor(arguments: list[str]) -> None:
    """Says what to do instead, where a flag of a refused call is gone."""
    from covey.study.gone import of_call

    sentence = of_call(arguments)
    if sentence is not None:
        _say(sentence)


def _hush() -> None:
    """Sends the rest of the output nowhere, as the reader is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def _say(sentence: str) -> None:
    print(f"covey: {plain_lines(sentence)}", file=sys.stderr)
