"""What a user can touch: what stays is there, and what is gone is refused by name with what to do instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.core

from covey import samples
from covey.cli import app, main
from covey.errors import InputError, StudyError
from covey.study import Study, gone, requirements, rules

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "demo": "--protocol --out",
    "new": "--out --k --role --encoding --ask --all",
    "check": "--data --as --encoding",
    "plan": "--rows --data --as --latency --bandwidth",
    "run": "--as --out --data --keys --listen --wait --approve --for-others --control --encoding --format --parts "
    "--once",
    "simulate": "--out --data --table --skew --deal-seed --seed --in-process --relay --latency --bandwidth",
    "anonymize": "--data --out --algorithm --k --l --t --force --explain --seed --budget --effort --threads --option "
    "--encoding --on-engine --format --parts --order",
    "verify": "--study --original --provider --certificate",
    "audit": "--keys --data --replay",
    "evaluate": "--study --original --target --population --seed --out",
    "export": "--force --parts",
    "report": "--data",
    "forget": "--unfinished",
    "doctor": "--out --study --as --keys --listen --rows --wait --relay",
    "ui": "--port --browser --no-browser",
    "keys new": "--out --days",
    "keys show": "",
    "keys card": "--out --keys --address --study",
    "keys add": "--take-study",
    "collect invite": "--out --count --valid --links",
    "collect serve": "--out --keys --listen --quorum --closes --phase-deadline --web --web-certificate --web-key",
    "collect respond": "--invite --record --folder --yes",
    "collect trustee": "--out --keys --dial",
    "collect page": "--out --check",
    "collect receipt": "--board",
    "collect status": "",
    "relay config": "--out --listen",
    "authority serve": "--out --keys --listen --wait --once",
    "hierarchy check": "--data --column --number",
    "hierarchy show": "--leaves",
    "data list": "",
    "data sample": "--out",
    "data fetch": "--out --from",
    "protocols": "",
    "bench": "--study --data --table --k --adult --quick --full --out",
}
KEYS = {
    "study": "name protocol partition sizes mismatch rows_at_most title about language",
    "privacy": "k l diversity c t site_l delta k_insider l_insider most_of_a_class",
    "utility": "measure suppression effort",
    "columns.age": "role hierarchy type missing null values range step site weight distance format l t label answers",
    "parties.north": "address certificate columns role label",
    "authority": "address certificate",
    "relay": "url certificate",
    "evaluate": "joint",
}
OPTIONS = {
    "peel": "frequencies reference web page",
    "collect": "grid rho b cut scheme",
    "count": "column level",
    "cluster": "alpha calls k0 k1",
    "generalize": "compare local variant",
    "suppress": "compare encryption epoch",
    "federate": "population alpha",
}
TARGETS = "help|install|kernels|user|demo|dist|test|test-thorough|test-slow|lint|format|bench|house|lock|clean"


def flags(name: str) -> set[str]:
    """The flags of the command of that name. Raises KeyError if there is none."""
    command = typer.main.get_command(app)
    for word in name.split():
        assert isinstance(command, typer.core.TyperGroup)
        command = command.commands[word]
    return {flag for item in command.params for flag in (*item.opts, *item.secondary_opts)}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_the_flags_that_it_had(name: str) -> None:
    assert set(COMMANDS[name].split()) - flags(name) == set()
    assert name == "ui" or "--json" in flags(name)


def problems(text: str) -> str:
    with pytest.raises(StudyError) as refused:
        Study.parse(text)
    assert refused.value.exit_code == InputError.exit_code == 2
    return "\n".join(refused.value.problems)


@pytest.mark.parametrize(("section", "key"), [(section, key) for section, keys in KEYS.items() for key in keys.split()])
def test_a_key_of_a_study_is_read(section: str, key: str) -> None:
    """A date, which no key takes, is refused by the key's name, which only happens to keys that are read."""
    numbers = 'hierarchy = "interval"\n' if key in ("range", "step") else ""
    said = problems(f"[{section}]\n{numbers}{key} = 1999-12-31\n")
    assert re.search(rf"\b{key}\b", said)
    assert f"unknown key '{key}'" not in said


def test_an_option_of_a_protocol_is_declared() -> None:
    for protocol, names in OPTIONS.items():
        declared = {option.name for known in requirements.of_protocol(protocol) for option in known.options}
        assert set(names.split()) - declared == set(), protocol


def test_the_samples_and_the_targets_of_make_are_there() -> None:
    assert set(samples.names()) == {"clinic", "hospitals", "clinic-billing", "providers", "survey"}
    makefile = (ROOT / "Makefile").read_text()
    assert len(re.findall(rf"^(?:{TARGETS}):", makefile, re.MULTILINE)) == len(TARGETS.split("|"))


def is_there(scope: str, name: str, flag: str) -> bool:
    """True for a name in the table that is still in use: its protocol, section or command has it."""
    key, _, value = name.partition("=")
    if flag:
        return flag in flags(scope)
    if scope == "parties":
        return value in rules.PARTY_ROLES
    if scope not in requirements.names():
        return False
    options = [option for known in requirements.of_protocol(scope) for option in known.options if option.name == key]
    return any(not value or value in getattr(option, "choices", ()) for option in options)


@pytest.mark.parametrize("entry", gone.GONE)
def test_a_name_that_is_gone_is_refused_with_what_to_do_instead(entry: str, capsys: pytest.CaptureFixture[str]) -> None:
    scope, _, name = entry.rpartition(" ")
    flag = name if name.startswith("--") else ""
    if is_there(scope, name, flag):
        pytest.skip("it is still in use")
    if flag:
        with pytest.raises(SystemExit) as end:
            main([*scope.split(), flag])
        assert end.value.code == InputError.exit_code
        assert gone.GONE[entry] in capsys.readouterr().err
        return
    key, _, value = name.partition("=")
    section = {"columns": "columns.age", "parties": "parties.north"}.get(scope, "protocol")
    protocol = scope if scope in requirements.names() else "peel"
    head = "".join(f'[study]\nname = "n"\nprotocol = "{protocol}"\n' if section == "protocol" else "")
    known = requirements.of_protocol(protocol)
    head += f'partition = "{known[0].partition}"\n' if head else ""
    said = problems(f'{head}[{section}]\n{key} = "{value or 1}"\n')
    assert gone.GONE[entry] in said
    assert f"{key} " in said
    assert "unknown key" not in said.partition(gone.GONE[entry])[0].rpartition("\n")[2]


def test_a_name_that_is_neither_known_nor_gone_gets_no_such_sentence() -> None:
    assert "is gone" not in problems(
        '[study]\nname = "n"\nprotocol = "peel"\npartition = "horizontal"\n[protocol]\nx = 1\n'
    )
    assert gone.of_call(["run", "--leave"]) is None
    assert gone.of_call(["collect", "respond", "study.toml", "--leave"]) is not None
