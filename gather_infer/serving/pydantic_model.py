"""A contract as a pydantic model of requests, which accepts what `Contract.check` accepts."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator
from typing import Any, Final

from gather_infer.contract import Contract
from gather_infer.report.guard import checker_source
from gather_infer.report.requests import request_schema
from gather_infer.serving.emission import Emission, Notes, open_texts, unique

_TAKEN: Final = frozenset(
    {
        "Annotated", "Any", "WithJsonSchema", "construct", "copy", "dict", "feeds", "from_orm",
        "fulfils_contract", "json", "parse_file", "parse_obj", "parse_raw", "schema",
        "schema_json", "update_forward_refs", "validate",
    }
)  # fmt: skip
"""Names that a field cannot have, because pydantic's BaseModel or the class itself has them."""

_MODEL: Final = '''
ALIASES = {aliases}
"""The input of each field."""


class Request(BaseModel):
    """The inputs of {model}: nested lists or numpy arrays that fulfil the contract."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

{fields}
    @model_validator(mode="after")
    def fulfils_contract(self) -> Request:
        found = refusals(TABLES, self.feeds(), strict=STRICT)
        if found:
            raise ValueError("; ".join(found))
        return self

    def feeds(self) -> dict[str, Any]:
        """The inputs that the request has, by name, for `InferenceSession.run`."""
        return {{name: getattr(self, field) for field, name in ALIASES.items() if field in self.model_fields_set}}


Request.model_rebuild(_types_namespace=globals())  # annotations are texts; a module may run without a name
'''


def pydantic_model(contract: Contract, *, strict: bool = False) -> Emission:
    """A Python module with the class `Request`; it needs pydantic 2 and numpy.

    strict   whether the class also enforces lines that are sufficient but not necessary; else it warns
    """
    sufficient = () if strict else (line.text for line, needed in contract.enforced if not needed)
    inexpressible = unique((*(f"{text} (not tight), a warning" for text in sufficient), *open_texts(contract)))
    shown = "".join(c if c.isprintable() and c not in '"\\' else "?" for c in contract.model)
    fields = dict(_fields(spec.name for spec in contract.inputs))
    body = "".join(
        (
            "\n",
            checker_source(contract, strict=strict)
            .replace("from typing import Any, NamedTuple\n", "from typing import Annotated, Any, NamedTuple\n", 1)
            .replace(
                "import numpy as np\n",
                "import numpy as np\n"
                "from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_validator\n",
                1,
            ),
            _MODEL.format(
                aliases=_literal({field: name for name, field in fields.items()}),
                model=shown,
                fields="".join(_declarations(contract, fields, strict)),
            ),
        )
    )
    return Notes(inexpressible).emission("pydantic", contract, body)


def _fields(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each input with the name of its field: the same if pydantic accepts it."""
    names = tuple(names)
    for number, name in enumerate(names):
        is_plain = name.isidentifier() and name.isascii() and not keyword.iskeyword(name)
        if is_plain and not name.startswith(("_", "model_")) and name not in _TAKEN:
            yield name, name
        else:
            yield (
                name,
                next(c for c in (f"input_{number}{'_' * more}" for more in range(len(names) + 1)) if c not in names),
            )


def _declarations(contract: Contract, fields: dict[str, str], strict: bool) -> Iterator[str]:
    properties = request_schema(contract, strict=strict)["properties"]
    for spec in contract.inputs:
        field = fields[spec.name]
        schema = {key: value for key, value in properties[spec.name].items() if key != "$ref"}
        arguments = [] if field == spec.name else [f"alias={_literal(spec.name)}"]
        arguments = [*(["default=None"] if spec.optional else []), *arguments]
        default = f" = Field({', '.join(arguments)})" if arguments else ""
        yield f"    {field}: Annotated[Any, WithJsonSchema({_literal(schema)})]{default}\n"


def _literal(value: Any) -> str:
    """JSON data as a Python literal of ASCII characters."""
    return ascii(value)
