"""The schema language: one parser and one schema object for built-in operators and users'.

The language is PyTorch's, ``name.overload(Tensor x, int[2] k=[0, 1], *, str mode="a") -> (Tensor, Tensor(a!)[])``,
with two additions: a lone ``/`` makes the parameters before it positional-only, and the type ``Array`` takes
whatever ``asarray`` takes.
"""

import re
import sys

from fastops.errors import SchemaError

BASE_TYPES = frozenset({
    "Tensor", "Array", "int", "SymInt", "float", "SymFloat", "bool", "SymBool", "str", "Scalar", "complex", "number",
    "ScalarType", "Device", "Layout", "MemoryFormat", "Generator", "Any", "Stream", "Storage", "Dimname", "NoneType",
    "QScheme"})
NAME_START = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
NAME_PART = NAME_START | frozenset("0123456789")
NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*").match
BLANKS = re.compile(r"[ \t\n\r]*").match
DTYPE_NAMES = {"half": "float16", "float": "float32", "double": "float64", "int": "int32", "long": "int64",
               "short": "int16", "uint8_t": "uint8", "cfloat": "complex64", "cdouble": "complex128"}
SCALAR_ITEMS = {"int": int, "SymInt": int, "float": float, "bool": bool}


class NoDefault:
    """The mark of a parameter without a default."""

    def __repr__(self):
        return "NO_DEFAULT"


NO_DEFAULT = NoDefault()


class Type:
    """A type of the schema language: a *base* name, a list of an *element* (of length *size*), or *items*."""
    __slots__ = ("base", "element", "size", "optional", "items", "alias")

    def __init__(self, base=None, *, element=None, size=None, optional=False, items=None, alias=None):
        self.base = base
        self.element = element
        self.size = size
        self.optional = optional
        self.items = items
        self.alias = alias

    def text(self):
        if self.base == "Dict":
            body = f"Dict({', '.join(item.text() for item in self.items)})"
        elif self.items is not None:
            body = f"({', '.join(item.text() for item in self.items)})"
        elif self.element is not None:
            body = f"{self.element.text()}[{'' if self.size is None else self.size}]"
        else:
            body = self.base
        alias = f"({self.alias})" if self.alias is not None and self.element is None else ""
        return body + alias + ("?" if self.optional else "")

    __str__ = __repr__ = text

    def __eq__(self, other):
        return isinstance(other, Type) and self.text() == other.text()

    def __hash__(self):
        return hash(self.text())


class AliasInfo:
    """Which memory a value shares: sets of letters before and after the call, and whether it is written."""
    __slots__ = ("is_write", "before_set", "after_set")

    def __init__(self, before, after, is_write):
        self.before_set = before
        self.after_set = after
        self.is_write = is_write

    def __str__(self):
        before = "|".join(sorted(self.before_set)) + ("!" if self.is_write else "")
        if self.after_set == self.before_set:
            return before
        return f"{before} -> {'|'.join(sorted(self.after_set))}"

    def __repr__(self):
        return f"AliasInfo({self})"

    def __eq__(self, other):
        return isinstance(other, AliasInfo) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


class Argument:
    """A parameter or a result of a schema."""
    __slots__ = ("name", "type", "kwarg_only", "positional_only", "alias_info", "default_value")

    def __init__(self, name, type, *, default_value=NO_DEFAULT, kwarg_only=False, positional_only=False,
                 alias_info=None):
        self.name = name
        self.type = type
        self.default_value = default_value
        self.kwarg_only = kwarg_only
        self.positional_only = positional_only
        self.alias_info = alias_info

    def has_default_value(self):
        """Whether the parameter may be left out."""
        return self.default_value is not NO_DEFAULT

    @property
    def is_write(self):
        """Whether the operator writes into the argument."""
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self):
        """Whether the argument is a keyword-only place for a result."""
        return self.is_write and self.kwarg_only

    def __str__(self):
        text = str(self.type)
        if self.name:
            text += f" {self.name}"
        if self.has_default_value():
            text += f"={default_text(self.default_value)}"
        return text

    def __repr__(self):
        return f"Argument({self})"


class FunctionSchema:
    """What an operator takes and gives; its text parses back to an equal schema.

    >>> parse_schema("doc::scale(Tensor x, float factor=2.0) -> Tensor").arguments[1].default_value
    2.0
    """
    __slots__ = ("namespace", "opname", "overload_name", "arguments", "returns", "_signature")

    def __init__(self, namespace, opname, overload_name, arguments, returns):
        self.namespace = namespace
        self.opname = opname
        self.overload_name = overload_name
        self.arguments = arguments
        self.returns = returns
        self._signature = None

    @property
    def name(self):
        """``"namespace::name"``, or the bare name where there is no namespace."""
        return f"{self.namespace}::{self.opname}" if self.namespace else self.opname

    @property
    def is_mutable(self):
        """Whether some argument is written."""
        return any(argument.is_write for argument in self.arguments)

    @property
    def is_view(self):
        """Whether some argument is aliased and none is written."""
        return any(argument.alias_info is not None for argument in self.arguments) and not self.is_mutable

    def with_namespace(self, namespace):
        """The same schema in another namespace."""
        return FunctionSchema(namespace, self.opname, self.overload_name, self.arguments, self.returns)

    def signature(self, gather=-1):
        """An ``inspect.Signature`` of the call; the parameter *gather*, if positional only, takes all that are left."""
        if self._signature is None:
            import inspect
            parameters = []
            for position, argument in enumerate(self.arguments):
                if position == gather and argument.positional_only:
                    parameters.append(inspect.Parameter(argument.name, inspect.Parameter.VAR_POSITIONAL))
                    continue
                kind = (inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else
                        inspect.Parameter.POSITIONAL_ONLY if argument.positional_only else
                        inspect.Parameter.POSITIONAL_OR_KEYWORD)
                default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
                parameters.append(inspect.Parameter(argument.name, kind, default=default))
            self._signature = inspect.Signature(parameters, __validate_parameters__=False)
        return self._signature

    def __str__(self):
        overload = f".{self.overload_name}" if self.overload_name else ""
        parts = []
        keyword_only = False
        for position, argument in enumerate(self.arguments):
            if argument.kwarg_only and not keyword_only:
                parts.append("*")
                keyword_only = True
            parts.append(str(argument))
            following = self.arguments[position + 1] if position + 1 < len(self.arguments) else None
            if argument.positional_only and (following is None or not following.positional_only):
                parts.append("/")
        returns = [str(result) for result in self.returns]
        results = returns[0] if len(returns) == 1 and not returns[0].startswith("(") else f"({', '.join(returns)})"
        return f"{self.name}{overload}({', '.join(parts)}) -> {results}"

    __repr__ = __str__

    def __eq__(self, other):
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


def default_text(value):
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(default_text(item) for item in value)}]"
    if value is None or isinstance(value, (bool, int, float, complex)):
        return repr(value)
    return str(value)


parsed_bodies = {}      # what follows an operator's name -> (arguments, returns)


class Parser:
    """A recursive descent over one schema text."""

    def __init__(self, text):
        if not isinstance(text, str):
            raise SchemaError(f"a schema is a string, not {text!r}")
        self.text = text
        self.at = 0

    def fail(self, expected, at=None):
        at = self.at if at is None else at
        line = self.text.replace("\n", " ").replace("\t", " ")
        raise SchemaError(f"cannot parse the schema: expected {expected}\n    {line}\n    {' ' * at}^")

    def skip(self):
        if self.text[self.at:self.at + 1] <= " ":           # a blank, or the end
            self.at = BLANKS(self.text, self.at).end()

    def peek(self, token):
        self.skip()
        return self.text.startswith(token, self.at)

    def take(self, token):
        if self.text[self.at:self.at + 1] <= " ":
            self.at = BLANKS(self.text, self.at).end()
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def expect(self, token, where=""):
        if not self.take(token):
            self.fail(f"{token!r}{where}")

    def word(self, what):
        self.skip()
        found = NAME(self.text, self.at)
        if found is None:
            self.fail(what)
        self.at = found.end()
        return found.group()

    def schema(self):
        namespace, opname, overload = "", self.word("the operator's name"), ""
        if self.take("::"):
            namespace, opname = opname, self.word("the operator's name after '::'")
        if self.take("."):
            overload = self.word("the overload's name")
            if overload == "default" or overload.startswith("__"):
                self.fail(f"an overload's name other than {overload!r}: 'default' and names with two underscores are "
                          "reserved", self.at - len(overload))
        body = self.text[self.at:]
        if body not in parsed_bodies:       # a family's operators share theirs: most are parsed once
            arguments = self.arguments()
            self.expect("->", " and the results")
            returns = self.results()
            self.skip()
            if self.at != len(self.text):
                self.fail("the end of the schema")
            parsed_bodies[body] = arguments, returns
        return FunctionSchema(namespace, opname, overload, *parsed_bodies[body])

    def arguments(self):
        self.expect("(", " and the parameters")
        arguments, names = [], set()
        keyword_only = defaulted = False
        while not self.take(")"):
            if arguments or keyword_only:
                self.expect(",", " or ')'")
            self.skip()
            start = self.at
            if self.take("*"):
                if keyword_only:
                    self.fail("one '*' only", start)
                keyword_only = True
                continue
            if self.take("/"):
                if keyword_only or not arguments or arguments[-1].positional_only:
                    self.fail("'/' once, after the positional-only parameters", start)
                for argument in arguments:
                    argument.positional_only = True
                continue
            argument = self.argument(keyword_only)
            if argument.name in names:
                self.fail(f"another name than {argument.name!r}, which is taken", start)
            names.add(argument.name)
            if not keyword_only:
                if defaulted and not argument.has_default_value():
                    self.fail(f"a default for {argument.name!r}, as it follows a parameter with one", start)
                defaulted = argument.has_default_value()
            arguments.append(argument)
        return arguments

    def argument(self, keyword_only):
        kind = self.type()
        name = sys.intern(self.word("the parameter's name"))
        default = NO_DEFAULT
        if self.take("="):
            self.skip()
            start = self.at
            default = self.checked_default(kind, self.literal(), name, start)
        return Argument(name, kind, default_value=default, kwarg_only=keyword_only, alias_info=alias_of(kind))

    def results(self):
        if not self.peek("("):
            return [self.result()]
        self.expect("(")
        results = []
        while not self.take(")"):
            if results:
                self.expect(",", " or ')'")
            results.append(self.result())
        return results

    def result(self):
        kind = self.type()
        self.skip()
        name = ""
        if self.at < len(self.text) and self.text[self.at] in NAME_START:
            name = self.word("the result's name")
        return Argument(name, kind, alias_info=alias_of(kind))

    def type(self):
        self.skip()
        start = self.at
        if self.take("("):
            items = []
            while not self.take(")"):
                if items:
                    self.expect(",", " or ')'")
                items.append(self.type())
            kind = Type(items=items)
        else:
            base = self.word("a type")
            if base == "Dict":
                self.expect("(")
                key = self.type()
                self.expect(",")
                kind = Type("Dict", items=[key, self.type()])
                self.expect(")")
            elif base not in BASE_TYPES:
                hint = "float" if base == "double" else None
                self.fail(f"a type, not {base!r}" + (f" (its name here is {hint!r})" if hint else
                          f"; the types are {', '.join(sorted(BASE_TYPES))}"), start)
            else:
                kind = Type(base)
                if self.text.startswith("(", self.at):
                    kind.alias = self.alias()
        while True:
            if self.text.startswith("?", self.at):
                if kind.optional:
                    self.fail("one '?' only")
                self.at += 1
                kind.optional = True
            elif self.text.startswith("[", self.at):
                self.at += 1
                self.skip()
                begin = self.at
                while self.at < len(self.text) and self.text[self.at].isdecimal():
                    self.at += 1
                size = int(self.text[begin:self.at]) if self.at > begin else None
                self.expect("]", " or a length")
                kind = Type(element=kind, size=size)
                if self.text.startswith("(", self.at):      # T[](a!) means T(a!)[]
                    kind.element.alias = self.alias()
            else:
                return kind

    def alias(self):
        self.expect("(")
        before, write = self.alias_set(), self.take("!")
        after = before
        if self.take("->"):
            after = self.alias_set()
        self.expect(")", " after the alias set")
        return AliasInfo(before, after, write)

    def alias_set(self):
        if self.take("*"):
            return frozenset("*")
        letters = {self.word("an alias letter or '*'")}
        while self.take("|"):
            letters.add(self.word("an alias letter"))
        return frozenset(letters)

    def literal(self):
        self.skip()
        text, start = self.text, self.at
        if start >= len(text):
            self.fail("a default value")
        first = text[start]
        if first in "\"'":
            return self.string(first)
        if first == "[":
            self.at += 1
            items = []
            while not self.take("]"):
                if items:
                    self.expect(",", " or ']'")
                items.append(self.literal())
            return items
        if first in NAME_START:
            word = self.word("a default value")
            if word in ("True", "False", "None"):
                return {"True": True, "False": False, "None": None}[word]
            if word in ("inf", "nan"):
                self.fail("a finite number", start)
            return Word(word)
        end = start
        while end < len(text) and (text[end] in NAME_PART or text[end] in ".+-"):
            end += 1
        self.at = end
        number = text[start:end]
        try:
            return int(number) if number.lstrip("+-").isdecimal() else self.finite(float(number), start)
        except ValueError:
            try:
                return complex(number)
            except ValueError:
                self.fail("a default value", start)

    def finite(self, value, start):
        if value - value != 0:
            self.fail("a finite number", start)
        return value

    def string(self, quote):
        start = self.at
        end = start + 1
        while end < len(self.text) and self.text[end] != quote:
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            self.fail("a closing quote", start)
        self.at = end + 1
        body = self.text[start + 1:end]
        if "\\" not in body:
            return body
        result, position = [], 0
        while position < len(body):
            if body[position] == "\\":
                position += 1
            result.append(body[position])
            position += 1
        return "".join(result)

    def checked_default(self, kind, value, name, start):
        """The default in the form that the kernel sees, if it is of its parameter's type."""
        if value is None:
            if not kind.optional and kind.base not in ("Any", "Generator"):
                self.fail(f"a default of type {kind} for {name!r}; None needs {kind}?", start)
            return None
        if kind.element is not None:
            if not isinstance(value, list):
                if kind.size is None or kind.element.base not in ("int", "SymInt", "float", "bool"):
                    self.fail(f"a list as the default of {name!r}", start)
                value = [value] * kind.size
            if kind.size is not None and len(value) != kind.size:
                self.fail(f"{kind.size} values as the default of {name!r}", start)
            return [self.checked_default(kind.element, item, name, start) for item in value]
        base = kind.base
        if base == "ScalarType" and isinstance(value, Word):
            return self.dtype(value, start)
        if base == "Device" and isinstance(value, (str, Word)):
            return str(value)
        if isinstance(value, Word):
            if base in ("Layout", "MemoryFormat", "Any"):
                return str(value)
            self.fail(f"a default of type {kind} for {name!r}", start)
        fits = {"int": is_int, "SymInt": is_int, "float": is_number, "SymFloat": is_number, "bool": is_bool,
                "SymBool": is_bool, "str": is_str, "complex": is_complex, "Scalar": is_complex, "number": is_complex,
                "Array": is_complex, "Any": is_anything, "Layout": is_int, "MemoryFormat": is_int}.get(base)
        if fits is None or not fits(value):
            self.fail(f"a default of type {kind} for {name!r}, not {value!r}", start)
        if base == "float" and type(value) is int:
            return float(value)
        return value

    def dtype(self, word, start):
        import numpy
        try:
            return numpy.dtype(DTYPE_NAMES.get(word, word))
        except TypeError:
            self.fail("the name of a dtype", start)


class Word(str):
    """A bare name in a default."""
    __slots__ = ()


def is_int(value):
    return type(value) is int


def is_number(value):
    return type(value) in (int, float)


def is_complex(value):
    return type(value) in (bool, int, float, complex)


def is_bool(value):
    return type(value) is bool


def is_str(value):
    return type(value) is str


def is_anything(value):
    return True


def alias_of(kind):
    while kind.element is not None:
        kind = kind.element
    return kind.alias


def parse_schema(text):
    """The FunctionSchema of *text*; SchemaError, with the place marked, if it does not parse.

    >>> parse_schema("f(Tensor(a!) x, int[] k=[]) -> ()")
    f(Tensor(a!) x, int[] k=[]) -> ()
    """
    return Parser(text).schema()
