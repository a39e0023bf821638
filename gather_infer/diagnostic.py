"""Diagnostics: findings with a location and a code, and the table of all codes."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from gather_infer.node_ids import GraphPath, NodePath


class Severity(str, enum.Enum):
    """Severity of a finding.

    error    onnxruntime refuses the file, every run that reaches the location fails, or some inputs that the
             declarations allow make a run fail
    warning  a run may fail in a branch or body that not every run reaches, a tool other than onnxruntime refuses the
             file, or a declaration is wrong
    note     worth knowing
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Location:
    """Location of a finding: a node by its path through subgraphs and functions, or a value by its name.

    version  since_version of the operator; the imported version of the domain if the operator has no schema
    value    name of the value if the finding is about a value, else ""
    graph    label of the graph that contains the value, for a finding without a node; "" for the main graph
    """

    node: NodePath | None = None
    op_type: str = ""
    domain: str = ""
    version: int = 0
    value: str = ""
    graph: str = ""

    def __str__(self) -> str:
        if self.op_type:
            domain = f"{self.domain}." if self.domain else ""
            op = f"{domain}{self.op_type}-{self.version}" if self.version else f"{domain}{self.op_type}"
            where = f"node {self.node} ({op})" if self.node is not None else f"node ({op})"
            return f"{where}, {self.value}" if self.value else where
        return f"value {self.value}" if self.value else (self.graph or "model")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about a model.

    detail              facts that explain the finding, a line each
    conditional_bodies  bodies around a failing node that some runs skip, outermost first. Every run that reaches the
                        node fails, but the severity is only a warning, since other runs may succeed
    """

    severity: Severity
    code: str
    message: str
    location: Location = Location()
    detail: tuple[str, ...] = ()
    conditional_bodies: tuple[GraphPath, ...] = field(default=(), compare=False, repr=False)

    @property
    def is_failure(self) -> bool:
        """Whether every run that reaches the location fails."""
        return self.severity is Severity.ERROR or bool(self.conditional_bodies)

    def __str__(self) -> str:
        return self.text()

    def text(self, file: str = "") -> str:
        """The printed form, several lines: code and message, then the location after `file`, then `detail`."""
        return "\n".join(self.parts(file))

    def parts(self, file: str = "") -> list[str]:
        """The lines of `text(file)`; a line contains line breaks if a name in it does."""
        where = f"{file}: {self.location}" if file else str(self.location)
        head = [f"{self.severity}[{self.code}]: {self.message}", f"  --> {where}"]
        return [*head, *(f"   |  {line}" for line in self.detail)]


def severity_counts(diagnostics: Iterable[Diagnostic]) -> str:
    """The numbers of errors and warnings as text, such as `1 error, 2 warnings`; "" if there are neither."""
    found = [d.severity for d in diagnostics]
    numbers = [(found.count(severity), severity) for severity in (Severity.ERROR, Severity.WARNING)]
    return ", ".join(f"{number} {severity}{'s' * (number != 1)}" for number, severity in numbers if number)


# code -> (default severity, meaning)
CODES: dict[str, tuple[Severity, str]] = {
    # the file itself
    "GI001": (Severity.ERROR, "the file cannot be read as a model"),
    "GI002": (Severity.ERROR, "the file could not be checked: the worker process ended twice"),
    "GI003": (Severity.ERROR, "the given dims, inputs or ranges contradict the model"),
    # the model as a whole
    "GI101": (Severity.ERROR, "two nodes, inputs or initializers define the same name"),
    "GI102": (Severity.ERROR, "the nodes form a cycle"),
    "GI103": (Severity.ERROR, "a node reads a name that nothing in scope defines"),
    "GI104": (Severity.ERROR, "the model imports no opset for the domain of a node, or the opset is not known"),
    "GI105": (Severity.WARNING, "no rule, function body or schema is known for an operator; its outputs are unknown"),
    "GI106": (Severity.ERROR, "an attribute is unknown to the operator, missing, or of the wrong type"),
    "GI107": (Severity.ERROR, "a node has more or fewer inputs or outputs than its operator allows"),
    "GI108": (Severity.ERROR, "a function calls itself, or a model nests deeper than the limit"),
    "GI109": (Severity.WARNING, "an opset, IR version or dim that is legal protobuf but not sensible"),
    "GI110": (Severity.ERROR, "the body of a control-flow operator does not fit its node"),
    "GI111": (Severity.WARNING, "the dim constraints in the metadata cannot be read, or contradict the inputs"),
    "GI112": (Severity.ERROR, "external data is missing, out of range or not allowed"),
    "GI113": (Severity.WARNING, "versions that the file states do not fit together"),
    "GI114": (Severity.WARNING, "a node comes before the node that produces its input"),
    "GI115": (Severity.ERROR, "onnx's checker refuses the model, for a reason that has no code of its own"),
    "GI116": (Severity.ERROR, "the imported opset of one of onnx's domains does not have an operator"),
    "GI117": (Severity.ERROR, "two nodes of a graph have the same name"),
    "GI118": (Severity.NOTE, "weights hold NaN or infinity"),
    "GI119": (Severity.WARNING, "every initializer is also an input, so no shape can depend on their values"),
    "GI120": (Severity.NOTE, "a dim name reads like an expression, and is taken as a name"),
    "GI121": (Severity.NOTE, "a dim expression has no exact integer value, so its size is unknown"),
    "GI122": (Severity.NOTE, "a dialect has no text for a dim, which is written as a new name"),
    # declared against inferred
    "GI201": (Severity.WARNING, "value_info contradicts what the inputs imply; the inferred fact is used"),
    "GI202": (Severity.ERROR, "a declared output contradicts what the inputs imply"),
    "GI203": (Severity.NOTE, "an output declares a symbol or a number where the inputs imply an expression"),
    "GI204": (Severity.ERROR, "an initializer contradicts itself: element type, dims and payload do not fit"),
    "GI205": (Severity.ERROR, "a value is declared as a tensor without an element type"),
    # operators
    "GI210": (Severity.ERROR, "the inputs break the operator's specification"),
    "GI211": (Severity.ERROR, "the element type is not allowed by the operator at this opset"),
    "GI212": (Severity.ERROR, "shapes that have to agree or broadcast do not"),
    "GI213": (Severity.WARNING, "the rule gave up: a dim grew past the size limit"),
    "GI214": (Severity.WARNING, "the work budget is spent: a body is not interpreted, or sizes stay undecided"),
    # axes, ranks and indices
    "GI301": (Severity.ERROR, "a constant index is out of bounds"),
    "GI302": (Severity.NOTE, "in bounds under a condition on the inputs"),
    "GI303": (Severity.WARNING, "a negative constant index where the operator's version does not define it"),
    "GI304": (Severity.ERROR, "axis is outside the allowed range"),
    "GI305": (Severity.ERROR, "the rank of an input is not allowed"),
    "GI306": (Severity.ERROR, "batch_dims is outside the allowed range, or the batch dims differ"),
    "GI307": (Severity.ERROR, "the length of the index tuple is outside the allowed range"),
    "GI308": (Severity.ERROR, "the element type of indices or axis is not allowed"),
    "GI309": (Severity.ERROR, "an OpenVINO-style Gather (axis as an input) is in an ONNX domain"),
    "GI310": (Severity.NOTE, "whether every index is in bounds depends on data or on unknown facts"),
    "GI321": (Severity.WARNING, "an integer that an index is computed from may overflow its element type"),
    "GI322": (Severity.WARNING, "a dim that an input leaves open must have one fixed size"),
    "GI323": (Severity.WARNING, "a tensor addressed by index has 2^31 elements or more"),
    "GI324": (Severity.NOTE, "the rows of a dynamic batch are not independent: a node combines them"),
    # edits
    "GI401": (Severity.NOTE, "a node could be folded but was left alone"),
    # contracts
    "GI501": (Severity.ERROR, "the declared range or size of an input exceeds what the model allows"),
    "GI502": (Severity.ERROR, "the declarations do not prove a line of the contract"),
    "GI601": (Severity.WARNING, "a check of an extension reports a problem"),
}

# prefix of the number -> title of the group
GROUPS: dict[str, str] = {
    "0": "The file itself",
    "1": "The model as a whole",
    "20": "Declared against inferred",
    "21": "Operators",
    "3": "Axes, ranks and indices",
    "4": "Edits",
    "5": "Contracts",
    "6": "Extensions",
}

# code -> advice
ADVICE: dict[str, str] = {
    "GI001": "Read the message: another kind of file, a damaged one, or one that was not downloaded whole.",
    "GI002": "Check the file alone, with more memory; if it crashes again, report this internal error with the model.",
    "GI003": "Correct the option or key that the message names, or check the model by itself.",
    "GI101": "Rename one of them; most runtimes refuse the file.",
    "GI102": "Break the cycle that the message spells out: ONNX has no cycles, a feedback is a Loop or a Scan.",
    "GI103": "Look for the node that should produce it; an edit may have removed or renamed it.",
    "GI104": "Add the domain to `opset_import`, with the version that the exporter meant.",
    "GI105": "Give a rule (docs/custom-rules.md) with `--rules`, or add a function body for it to the model.",
    "GI106": "Compare the node with its operator's page at the imported opset; often that opset is too old.",
    "GI107": "Compare the node with its operator's page; an optional input in the middle is left out by an empty name.",
    "GI108": "Inline the function, or flatten the nesting.",
    "GI109": "Leave the dim empty, or name it, when its size is not known.",
    "GI110": "Give the body the inputs and outputs that its node passes and takes.",
    "GI111": "Remove the entry `gather_infer.dims` of the metadata, or write it as docs/inference.md describes.",
    "GI112": "Put the complete data file next to the model; if it was generated again, export both again.",
    "GI113": "Raise `ir_version` to that of the opset, or import the opset that the exporter meant.",
    "GI114": "Sort the nodes topologically: not every runtime does it.",
    "GI115": "Read the message of the checker; many tools refuse what it refuses.",
    "GI116": "Import the opset that the exporter meant, or move the operator into its own domain.",
    "GI117": "Give one of them another name, or none: onnxruntime refuses the file.",
    "GI118": "Find where the weights come from: a training that diverged, or a conversion that overflowed.",
    "GI119": "Remove initializers from the inputs of the graph, or give `--initializers-as-constants`.",
    "GI120": "Nothing for a name. Give the expression if it is one: `--dim 'a-b=a - b'` or `--input 'x=[a - b]'`.",
    "GI121": "Ask the exporter to round the fraction, as in `floor(N/2)`, or give the size: `--dim 'N/2=N//2'`.",
    "GI122": "Nothing, if readers need no relation between the dims; or choose another `--dim-dialect`.",
    "GI201": "Write fresh `value_info` with `gather-infer infer -o`, so that no tool trusts the old one.",
    "GI202": "Correct the declared output, or the inputs that it contradicts: `--dim` and `--input` may be wrong.",
    "GI203": "Nothing for a name, the expression can replace it. A number is right only for runs of exactly that size.",
    "GI204": "The file is damaged or was written incorrectly; export it again.",
    "GI205": "Declare the element type, or remove the entry of `value_info`: onnxruntime refuses the file.",
    "GI210": "Read the message against the operator's page: it names the clause, the allowed range and what was found.",
    "GI211": "Insert a Cast, or raise the opset where the operator allows the type.",
    "GI212": "Follow the shapes in the message back to the inputs; `--dim` may give sizes that do not fit.",
    "GI213": "Bind symbols with `--dim`; expressions of this size are hard to read anyway.",
    "GI214": "Inline the functions, or flatten the loops: each level that calls the next twice doubles the work.",
    "GI301": "Correct the index or the size of the axis: a CPU fails here, other devices read zeros or a wrong row.",
    "GI302": "Make sure that inputs meet the condition: else a CPU fails, other runtimes continue with wrong rows.",
    "GI303": "Count the index from the front, or raise the opset: only later versions define negative indices.",
    "GI304": "Set an axis in the range that the message gives.",
    "GI305": "Add or remove axes with Unsqueeze, Squeeze or Reshape.",
    "GI306": "Set `batch_dims` in the range that the message gives; data and indices agree in that many leading dims.",
    "GI307": "The last dim of `indices` has to be between 1 and the rank of data less `batch_dims`.",
    "GI308": "Cast the indices to int64, which every operator of the Gather family takes.",
    "GI309": "`gather-infer convert` rewrites it.",
    "GI310": "Find where the indices come from; a Clip before the node makes the access safe.",
    "GI321": "Compute indices in int64, or bound the values of the narrow type with a Clip.",
    "GI322": "Declare the size if it is intended; else the inputs of the node may be swapped, or of the wrong axis.",
    "GI323": "Split the table, or make sure that the kernels of the device count elements in 64 bits.",
    "GI324": "If requests are batched together, a result may depend on the others: reduce over other axes.",
    "GI401": "Raise `--max-growth` if the constant may be that large; otherwise the message gives the reason.",
    "GI501": "Narrow `--range` or `--dim` to the contract line, or enlarge the table that the node reads.",
    "GI502": "Declare it with `--range` or `--dim` if the callers of the model guarantee it; else check each request.",
    "GI601": "Read the message against the documentation of the extension that `--extension` names.",
}  # fmt: skip


_NEARLY = re.compile(r"[GI]{0,2}[-_ ]*0?([0-9OIL]{3})")
_DIGITS = str.maketrans("OIL", "011")


def diagnostic(code: str, message: str, location: Location = Location(), *, detail: tuple[str, ...] = (),
               severity: Severity | None = None) -> Diagnostic:  # fmt: skip
    """A Diagnostic; `severity` None means the default severity of `code`."""
    return Diagnostic(severity or CODES[code][0], code, message, location, detail)


def is_structural(finding: Diagnostic) -> bool:
    """Whether `finding` is an error of the model even if its node never runs, unlike a wrong size or index."""
    is_of_types = finding.code in ("GI204", "GI205", "GI211", "GI308", "GI309")
    is_of_declared_types = finding.code in ("GI201", "GI202") and finding.severity is Severity.ERROR
    return finding.code < "GI200" or is_of_types or is_of_declared_types


def is_broken(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether an error in `diagnostics` is structural; onnx's own inference may crash on such a model."""
    return any(finding.severity is Severity.ERROR and is_structural(finding) for finding in diagnostics)


def has_errors_or_warnings(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether there is an error or a warning among the diagnostics."""
    return any(d.severity is not Severity.NOTE for d in diagnostics)


def group_of(code: str) -> str:
    """Title of the group of `code` in documentation, such as `Axes, ranks and indices`."""
    return next(title for prefix, title in GROUPS.items() if code.startswith(f"GI{prefix}"))


def nearest_code(text: str) -> str | None:
    """The code that a misspelled `text` means (`301`, `gi-301` and `GI3O1` mean `GI301`); None if there is none."""
    found = _NEARLY.fullmatch(text.strip().upper())
    code = "" if found is None else "GI" + found[1].translate(_DIGITS)
    return code if code in CODES else None


def codes_near(text: str) -> str:
    """The end of a message about an unknown code `text`, with suggestions.

    It is `; did you mean 'GI301'?` if `text` is close to a code. Otherwise it lists the codes that begin with `text`,
    else the codes with the same first three characters, else all codes.
    """
    near = nearest_code(text)
    if near is not None:
        return f"; did you mean {near!r}?"
    start = text.strip().upper()
    beginning = [code for code in CODES if code.startswith(start)] if start else []
    if beginning and start != "GI":
        return f"; those that begin so: {ranges_of(beginning)}"
    group = [code for code in CODES if start[:2] == "GI" and code[:3] == start[:3]]
    return f"; there are {ranges_of(group or CODES)}"


def ranges_of(codes: Iterable[str]) -> str:
    """The sorted `codes` as text, with three or more consecutive codes abbreviated: `GI301 to GI310, GI401`."""
    runs: list[list[str]] = []
    for code in codes:
        if runs and int(code[2:]) == int(runs[-1][-1][2:]) + 1:
            runs[-1].append(code)
        else:
            runs.append([code])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)
