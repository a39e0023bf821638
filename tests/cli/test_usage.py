"""Commands that cannot be carried out, help pages, and how a command is found."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path

import gather_infer_cli
import numpy
import onnx
import pytest
from gather_infer_cli import start
from gather_infer_cli.main import COMMANDS, main
from gather_infer_cli.options import Bytes

from gather_infer.report.rewriting import SHOWN_EDITS
from tests.cli.conftest import READERS, Run
from tests.cli.test_golden import CASES, GOLDEN
from tests.documents import REPO, cli_runner

VERSIONS = f"gather-infer {metadata.version('gather-infer')}, onnx {onnx.__version__}, numpy {numpy.__version__}\n"


def arguments(command: str, model: str) -> list[str]:
    written = ["-o", "out.onnx"]
    more = {"freeze": [*written, "--dim", "seq=4"], "explain": ["hidden"]}
    more |= {"extract": [*written, "--outputs", "sum"], "outputs": [*written, "--add", "sum"]}
    more |= {"rename": [*written, "--input", "ids=tokens"]}
    more |= {name: [] for name in ("infer", "inspect", "contract", "cost", "tensors")}
    return [command, model, *more.get(command, written)]


BAD_FILES = {
    # name: (content, None for a directory; message)
    "missing.onnx": (None, "No such file or directory"),
    "empty.onnx": (b"", "empty file"),
    "text.onnx": (b"hello, this is not a model", "text.onnx: "),
    "folder.onnx": ("folder", "a directory, not a model file"),
}
SEVERAL = ("infer", "fold", "optimize", "convert", "contract", "cost")
"""The commands that take several models, so that a folder stands for the models below it."""


@pytest.mark.parametrize("command", SEVERAL)
def test_a_folder_without_models(command: str, run: Run) -> None:
    Path("empty").mkdir()
    result = run(command, "empty", *(() if command in ("infer", "cost", "contract") else ("-o", "out")))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: empty: no models below this folder: no .onnx, no .xml with its .bin\n"


@pytest.mark.parametrize(
    ("name", "command"),
    [(name, command) for name in BAD_FILES for command in READERS if name != "folder.onnx" or command not in SEVERAL],
)
def test_what_cannot_be_read_is_one_line_and_exit_3(command: str, name: str, run: Run) -> None:
    content, message = BAD_FILES[name]
    if isinstance(content, bytes):
        Path(name).write_bytes(content)
    elif content == "folder":
        Path(name).mkdir()
    Path("out.onnx").write_bytes(b"precious")
    result = run(*arguments(command, name))
    assert (result.exit_code, result.stdout) == (3, "")
    assert re.fullmatch(rf"error: .*{re.escape(message)}.*\n", result.stderr)
    assert Path("out.onnx").read_bytes() == b"precious"


@pytest.mark.parametrize("command", READERS)
def test_a_truncated_file(command: str, run: Run) -> None:
    whole = Path("embedding.onnx").read_bytes()
    before = sorted(Path().iterdir())
    for size in (1, 10, len(whole) // 2, len(whole) - 1):
        Path("embedding.onnx").write_bytes(whole[:size])
        assert run(*arguments(command, "embedding.onnx")).exit_code == 3
    assert sorted(Path().iterdir()) == before


def test_several_files_of_which_one_is_unreadable(run: Run) -> None:
    result = run("inspect", "embedding.onnx", "missing.onnx")
    assert result.exit_code == 3
    assert "embedding.onnx" in result.stdout
    assert result.stderr == "error: missing.onnx: No such file or directory\n"


USAGE = {
    "infer": "missing argument 'MODELS...'",
    "infer embedding.onnx --dim sec=3": "did you mean 'seq'",
    "infer embedding.onnx --dim seq": "a dim must read NAME=SIZE, NAME=LOW..HIGH or NAME=EXPRESSION, found 'seq'",
    "infer embedding.onnx --dim seq=": "found 'seq='",
    "infer embedding.onnx --dim seq=1..x": "dim 'seq': bounds must read LOW..HIGH, numbers .* found '1..x'",
    "infer embedding.onnx --dim seq=-1..4": "bounds must read LOW..HIGH, numbers >= 0 .* found '-1..4'",
    "infer embedding.onnx --dim seq=batch..4": "found 'batch..4'",
    "infer embedding.onnx --dim seq=1...4": r"found '1...4'; did you mean 1\.\.4\?",
    "infer embedding.onnx --dim seq=5..1": "no size is in the bounds 5..1",
    "infer embedding.onnx --dim seq=1-4": r"bounds must read LOW..HIGH, found '1-4'; did you mean 1\.\.4\?",
    "infer embedding.onnx --dim seq=1:4": r"found '1:4'; did you mean 1\.\.4\?",
    "infer embedding.onnx --dim 'seq=1 to 4'": r"did you mean 1\.\.4\?",
    "infer embedding.onnx --dim seq=4-5*1": r"dim 'seq' must be in \[0, 2\^63 - 1\], is -1",
    "infer embedding.onnx --dim seq=tokens": r"there are batch, seq \(--input 'ids=\[batch, tokens\]' gives 'seq' that",
    "contract embedding.onnx --range ids=0-9": r"found '0-9'; did you mean 0\.\.9\?",
    "infer embedding.onnx --dim seq=9223372036854775808": "is 9223372036854775808",
    "infer embedding.onnx --dim seq=4.5": "an expression in other dims: 9/2 is not an integer at position 3 of '4.5'",
    "infer embedding.onnx --dim seq=2*": "an expression in other dims: expected .* at position 2 of '2\\*'",
    "infer embedding.onnx --dim seq=4K": (
        "dim 'seq' counts elements, not bytes, and has no unit, found '4K'; "
        r"it is a size \(seq=4096\), bounds \(seq=1..4096\) or an expression in other dims"
    ),
    "infer embedding.onnx --dim seq=1M": "not bytes, and has no unit, found '1M'",
    "infer embedding.onnx --dim seq=1..4k": "not bytes, and has no unit, found '1..4k'",
    "infer embedding.onnx --dim 'seq=2 GiB'": "not bytes, and has no unit, found '2 GiB'",
    "infer embedding.onnx --dim seq=4x": "expected .* '4x'",
    "cost embedding.onnx --at seq=4K": "numbers >= 0 without a unit, joined by commas, found 'seq=4K'",
    "infer embedding.onnx --dim seq=bach": "no input dim 'bach'; did you mean 'batch'",
    "infer embedding.onnx --dim seq=1 --dim seq=2": "dim 'seq' is given twice",
    "infer embedding.onnx --input ids": r"an input must read NAME=TYPE\[DIM, ...\], found 'ids'",
    "infer embedding.onnx --input ids=int64": r"must read NAME=TYPE\[DIM, ...\] or NAME=\[DIM, ...\], found 'int64'",
    "infer embedding.onnx --input 'ids=int65[1, 2]'": "no element type 'int65'; did you mean 'int64'",
    "infer embedding.onnx --input 'ids=float[1, 2]'": "input 'ids' is declared int64, not float32",
    "infer embedding.onnx --input 'ids=[1, ?]'": r"a dim must be a size, a name or an expression, found '\?': expected",
    "infer embedding.onnx --input 'ids=[1, -2]'": "is -2",
    "infer embedding.onnx --input 'ids=[1]'": r"is declared int64\[batch, seq\], which int64\[1\] contradicts",
    "infer embedding.onnx --input idz=int64[3]": "ids",
    "infer embedding.onnx --in-place -o out.onnx": "--in-place and -o exclude each other",
    "infer embedding.onnx --external-data w": "--external-data needs -o",
    "infer embedding.onnx -o embedding.onnx": "embedding.onnx: is the input, which only --in-place",
    "infer embedding.onnx -o ''": "-o needs the name of a file",
    "infer embedding.onnx -o out/": "-o: 'out/' names a folder, not a file",
    "page embedding.onnx -o out/": "-o: 'out/' names a folder, not a file",
    "contract embedding.onnx --python out/": "--python: 'out/' names a folder, not a file",
    "diff embedding.onnx embedding.onnx --witness out/": "--witness: 'out/' names a folder, not a file",
    "fold embedding.onnx --dry-run --feeds out/": "--feeds: 'out/' names a folder, not a file",
    "infer embedding.onnx --format xml": "'xml' is not one of",
    "infer embedding.onnx --rules none.py": "none.py: no such file",
    "infer embedding.onnx --rules .": "--rules .: not a file",
    "infer - --in-place": "--in-place needs a file",
    "infer embedding.onnx many.onnx -o -": "-o - writes one model; for several models, OUT is a folder",
    "infer embedding.onnx many.onnx -o bad.onnx": "bad.onnx: a file; the outputs of several models need a folder",
    "infer embedding.onnx - -o out": "standard input has no name for an output; write it alone, with -o OUT",
    "infer embedding.onnx - --in-place": "--in-place needs a file, MODEL is standard input",
    "optimize embedding.onnx fixtures/none -o out --cache ''": "--cache needs the name of a folder, found ''",
    "optimize embedding.onnx -o out --cache c": "--cache is for several models, or a folder",
    "cost embedding.onnx --cache c": "--cache is for several models, or a folder",
    "contract embedding.onnx --cache c": "--cache is for several models, or a folder",
    "contract embedding.onnx many.onnx --python g.py": "--python, --json-schema and --emit write",
    "infer embedding.onnx --extension acme": "no extension 'acme'; no installed package has an entry point",
    "infer - embedding.onnx -": "standard input can be read only once",
    "fold embedding.onnx": "-o OUT is missing",
    "fold embedding.onnx -o out.onnx --max-growth -1": "'-1' is not a number of bytes: 4096, 64K or 1M",
    "fold embedding.onnx -o out.onnx --max-growth 1X": "'1X' is not a number of bytes: 4096, 64K or 1M",
    "fold embedding.onnx -o out.onnx --max-growth 1Mi": "'1Mi' is not a number of bytes",
    "fold embedding.onnx -o embedding.onnx": "embedding.onnx",
    "fold embedding.onnx --in-place -o out.onnx": "--in-place and -o exclude each other",
    "fold embedding.onnx -o out.onnx --dim sec=3": "did you mean 'seq'",
    "fold embedding.onnx --dry-run --skip fold-know": "no rewrite 'fold-know'; did you mean 'fold-known'",
    "optimize embedding.onnx": "-o OUT is missing",
    "optimize embedding.onnx --dry-run --passes slice": "there is no rewrite 'slice'",
    "freeze embedding.onnx --dim seq=4": "-o OUT is missing",
    "freeze embedding.onnx -o out.onnx": "nothing to freeze: --dim batch=1 or",
    "freeze embedding.onnx -o out.onnx --dim sec=3": "did you mean 'seq'",
    "freeze embedding.onnx -o out.onnx --input 'ids=float[1, 2]'": "input 'ids' is declared int64, not float32",
    "freeze embedding.onnx -o embedding.onnx --dim seq=4": "embedding.onnx: is the input",
    "convert exported.onnx": "-o OUT is missing",
    "convert exported.onnx -o out.onnx --dim M=3": "no input dim 'M'",
    "convert exported.onnx -o out.onnx --beam-idx drop --verify 1": "the IR runs with that input",
    "convert exported.onnx -o out.onnx --opset 21": "is ONNX of opset 17, which convert does not change",
    "convert exported.onnx -o out.onnx --in-place-weights": "the weights of an ONNX file stay where they are anyway",
    "convert exported.onnx -o out.onnx --in-place-weights --external-data w": "exclude each other",
    "extract embedding.onnx --outputs sum": "-o OUT is missing",
    "extract embedding.onnx -o out.onnx": "nothing to extract: --inputs, --outputs, --from-node or --to",
    "extract embedding.onnx -o out.onnx --from-node /Ad": "no node '/Ad'; did you mean '/Add'",
    "outputs embedding.onnx -o out.onnx": "nothing to do: --add, --keep or --drop is missing",
    "outputs embedding.onnx -o out.onnx --keep hiden": "no output 'hiden'; did you mean 'hidden'",
    "outputs embedding.onnx -o out.onnx --drop hidden --add word --prove": "no output in common",
    "compose embedding.onnx": "missing argument 'OTHER'",
    "compose embedding.onnx bad.onnx": "-o OUT is missing",
    "page embedding.onnx": "-o OUT.html is missing",
    "compose embedding.onnx embedding.onnx -o out.onnx": "no output of the first model has the name of an input",
    "compose embedding.onnx embedding.onnx -o out.onnx --map hiden=ids": "did you mean 'hidden'",
    "rename embedding.onnx -o out.onnx": "nothing to rename: --input, --output, --dim or --node is missing",
    "rename embedding.onnx -o out.onnx --input id=x": "no input 'id'; did you mean 'ids'",
    "rename embedding.onnx -o out.onnx --input ids": "a renaming is OLD=NEW or s/PATTERN/REPLACEMENT/, not 'ids'",
    "rename embedding.onnx -o out.onnx --node s/(/x/": "missing \\)",
    "rename embedding.onnx -o out.onnx --dim seq=2": "'2' is no name of a dim",
    "inspect - embedding.onnx -": "standard input can be read only once",
    "convert exported.onnx -o o --gather-oob maybe": "'maybe' is not one of",
    "inspect": "missing argument",
    "explain": "missing argument",
    "explain embedding.onnx": "missing argument 'TENSOR': which tensor of embedding.onnx",
    "explain embedding.onnx hiden": "no tensor or symbol 'hiden'; did you mean 'hidden'",
    "explain embedding.onnx bath": "did you mean 'batch'",
    "explain embedding.onnx '/nothing/*'": "no tensor matches '/nothing/\\*'",
    "explain embedding.onnx --op Gahter": "no operator 'Gahter'; did you mean 'Gather'",
    "tensors embedding.onnx hiden": "no tensor 'hiden'; did you mean 'hidden'",
    "tensors embedding.onnx 'x*'": "no tensor matches 'x\\*'",
    "tensors embedding.onnx --op Gahter": "no operator 'Gahter'; did you mean 'Gather'",
    "completion": "missing argument",
    "completion tcsh": "'tcsh' is not one of 'bash', 'zsh', 'fish'",
    "optimize embedding.onnx out.onnx": "-o OUT is missing; -o out.onnx writes a file",
    "convert embedding.onnx out.onnx": "-o OUT is missing; -o out.onnx writes a file",
    "optimize embedding.onnx embedding.onnx": "-o OUT is missing; --dry-run writes nothing",
    "fold embedding.onnx a b": "-o OUT is missing; --dry-run writes nothing",
    "freeze embedding.onnx out.onnx --dim seq=1": "got unexpected extra argument \\(out.onnx\\); -o out.onnx writes a",
    "freeze embedding.onnx out.onnx -o other.onnx": "got unexpected extra argument \\(out.onnx\\)\n",
    "freeze embedding.onnx a b": "got unexpected extra arguments \\(a b\\)\n",
    "infer embedding.onnx --dim batch=1,seq=3": "did you mean --dim batch=1 --dim seq=3\\?",
    "explain embedding.onnx hidden --depth -1": "-1 is not in the range",
    "diff embedding.onnx embedding.onnx --rtol nan": "'--rtol': nan is not finite\n",
    "diff embedding.onnx embedding.onnx --atol inf": "'--atol': inf is not finite\n",
    "diff embedding.onnx embedding.onnx --law nope": "error: no law 'nope'; the laws are rows, columns, gemm-bias\n",
    "explain GI333": "no code 'GI333'; there are GI301 to GI310, GI321 to GI324\n",
    "explain GI3": "no code 'GI3'; those that begin so: GI301 to GI310, GI321 to GI324\n",
    "explain 301": "no code '301'; did you mean 'GI301'\\?\n",
    "check embedding.onnx --ignore foo": "--ignore: no code begins with 'foo'; there are GI001 to",
    "fold embedding.onnx --dry-run --feeds gone.npz": "error: gone.npz: No such file or directory\n",
    "fold embedding.onnx --dry-run --feeds fixtures": "error: fixtures: Is a directory\n",
    "fold embedding.onnx --dry-run --feeds embedding.onnx": "embedding.onnx: no .npz, as np.savez",
    "explain GI": "no code 'GI'; there are GI001",
    "explain give_me": "missing argument 'MODEL': 'give_me' is no code",
    "explain logits": "missing argument 'MODEL': 'logits' is no code; .*: gather-infer explain MODEL logits\n",
    "explain 'a b'": "missing argument 'MODEL': .*: gather-infer explain MODEL 'a b'\n",
    "explain Gather": "missing argument 'MODEL': 'Gather' is no code; .*: gather-infer explain MODEL Gather\n",
    "ops Gahter": "no operator 'Gahter'; did you mean 'Gather'",
    "ops Gather Concat": "unexpected extra argument",
    "explain GI301 --dim seq=3": "--dim needs MODEL TENSOR",
    "folt": "did you mean 'fold'",
    "xyz": "there are check, completion, compose, contract, convert, cost, diff, explain, extract, fold, freeze, infer",
}


@pytest.mark.parametrize("command", USAGE)
def test_usage_errors_are_exit_2(command: str, run: Run) -> None:
    model = Path("embedding.onnx").read_bytes()
    result = run(*shlex.split(command))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert re.search(USAGE[command], result.stderr)
    assert Path("embedding.onnx").read_bytes() == model


SIZES = {"0": 0, "4096": 4096, "64K": 1 << 16, "64k": 1 << 16, "1M": 1 << 20, "2MB": 2 << 20, "1 GiB": 1 << 30, "7B": 7}


@pytest.mark.parametrize("text", SIZES)
def test_sizes_in_bytes(text: str) -> None:
    assert Bytes().convert(text, None, None) == SIZES[text]


PYTHON = re.compile(r"\b(None|True|False|NoneType|dict|tuple|[A-Za-z]+(Error|Exception))\b|<class")
"""What only those who know Python understand."""


def test_no_text_speaks_python() -> None:
    for path in GOLDEN.glob("*.txt"):
        if not path.stem.endswith("json"):
            assert not PYTHON.search(path.read_text()), path


@pytest.mark.parametrize("command", [*USAGE, "infer bools.onnx -v", "tensors bools.onnx", "explain bools.onnx y"])
def test_no_message_speaks_python(command: str, run: Run) -> None:
    text = '<ir_version: 9, opset_import: ["": 18]> g (float[N] x) => (bool[2] y) <bool[2] y = {1, 0}> { }'
    onnx.save(onnx.parser.parse_model(text), "bools.onnx")
    result = run(*shlex.split(command))
    assert not PYTHON.search(result.output), result.output


def test_the_help_tells_of_standard_streams(run: Run) -> None:
    for command in READERS:
        assert "- is standard input" in " ".join(run(command, "--help").stdout.split())
    for command in ("infer", "fold", "optimize", "freeze", "convert", "contract", "extract", "outputs", "rename"):
        assert "- is standard output" in " ".join(run(command, "--help").stdout.split())


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from gather_infer_cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'onnx', 'numpy', 'google.protobuf', 'onnx_graphsurgeon'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    for page in (["--help"], *([command, "--help"] for command in COMMANDS)):
        subprocess.run([sys.executable, "-c", code, *page], check=True, capture_output=True)


def test_each_option_is_in_the_documents() -> None:
    pages = [REPO / "README.md", *(REPO / "docs").glob("*.md")]
    words = set(re.findall(r"--[a-z][a-z-]*", " ".join(page.read_text() for page in pages)))
    commands = [import_module(f"gather_infer_cli.{name}").command for name in COMMANDS]
    options = {text for command in commands for parameter in command.params for text in parameter.opts}
    assert {text for text in options if text.startswith("--")} <= words


def test_each_example_of_the_help_works(run: Run) -> None:
    for name in COMMANDS:
        examples = run(name, "--help").stdout.split("\nExample:\n  ")[1].replace("\\\n", "").splitlines()
        assert all(example.split()[:2] == ["gather-infer", name] for example in examples)
        for example in examples:
            result = run(*shlex.split(example.partition(" > ")[0])[1:])
            assert result.exit_code == 0, result.output


def test_every_command_is_listed_and_its_help_is_tested() -> None:
    files = Path(gather_infer_cli.__file__).parent.glob("*.py")
    assert set(COMMANDS) == {path.stem for path in files if "@click.command(" in path.read_text()}
    assert {f"help-{name}" for name in COMMANDS} <= CASES.keys()


def test_the_help_lists_each_command_by_its_first_sentence(run: Run) -> None:
    for name, sentence in COMMANDS.items():
        text = import_module(f"gather_infer_cli.{name}").command.help
        assert " ".join(text.split("\n\n")[0].split()) == sentence, name
        assert f"\n  {name} " in run("--help").stdout


def test_only_the_command_that_runs_is_imported() -> None:
    code = (
        "import sys\n"
        "from gather_infer_cli.main import COMMANDS, main\n"
        "try: main(['ops', '--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in COMMANDS if f'gather_infer_cli.{name}' in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "['ops']"


def test_optimize_imports_only_what_the_model_needs(tmp_path: Path) -> None:
    code = (
        "import sys, onnx\n"
        "before = set(sys.modules)\n"
        "from gather_infer_cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "print(*sys.modules.keys() - before)\n"
    )
    options = ["optimize", str(REPO / "fixtures/dlrm-torchscript.onnx"), "-o", str(tmp_path / "out.onnx")]
    done = subprocess.run([sys.executable, "-c", code, *options], check=True, capture_output=True, text=True)
    unneeded = {
        "gather_infer.checks", "gather_infer.explanation", "gather_infer.inference.bodies.loop",
        "gather_infer.inference.inferred_graphs", "gather_infer.many.model_run", "gather_infer.openvino",
        "gather_infer.passes.freezing", "gather_infer.report.summary", "gather_infer.runtimes",
        "gather_infer.validate", "gather_infer.verification.options", "hashlib", "onnx.reference",
    }  # fmt: skip
    assert not unneeded & set(done.stdout.splitlines()[-1].split())


def test_without_arguments_the_help_is_shown(run: Run) -> None:
    assert run().stdout == run("--help").stdout


def test_the_console_script_is_this_program() -> None:
    (script,) = metadata.entry_points(group="console_scripts", name="gather-infer")
    assert script.load() is start.main
    assert cli_runner().invoke(main, ["--version"]).stdout == VERSIONS


def test_the_package_is_this_program() -> None:
    command = [sys.executable, "-m", "gather_infer"]
    assert subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout == VERSIONS
    failed = subprocess.run([*command, "infer", "missing.onnx"], capture_output=True, text=True)
    assert (failed.returncode, failed.stdout) == (3, "")
    assert failed.stderr == "error: missing.onnx: No such file or directory\n"


@pytest.mark.parametrize("command", ["fold", "optimize", "convert", "extract", "outputs", "rename"])
def test_help_tells_how_many_edits_a_dry_run_prints(command: str, run: Run) -> None:
    text = " ".join(run(command, "--help").stdout.split())
    assert f"Write nothing; print the edits, more than {SHOWN_EDITS} with -v." in text


def test_every_command_that_infers_takes_rules(run: Run) -> None:
    """docs/custom-rules.md says so."""
    without = {name for name in COMMANDS if "--rules FILE.py" not in run(name, "--help").stdout}
    assert without == {"completion", "inspect", "ops"}
