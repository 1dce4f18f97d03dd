"""What a submission must leave as it is: the functions that check it.

``Originals`` keeps every function of the packages that an assignment's setup cell imports, before any of the student's
code runs. Before and after each graded cell it compares, puts back what was changed, and says so. It finds what one can
do by assignment (``torch.allclose = ...``, ``check = ...``, ``check.__code__ = ...``); who goes through memory by hand
can still hide from it.
"""

import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Collection
from types import FunctionType, ModuleType

# Beside what the setup cell imports: where results are compared.
ALWAYS = ("builtins", "math")
WITH_TORCH = ("torch", "torch.testing", "torch.nn.functional", "torch.linalg", "numpy", "numpy.testing")
SHELL = ("run_cell", "run_cell_async", "run_code", "run_ast_nodes", "showtraceback", "displayhook", "compile")
SHELL_LISTS = ("ast_transformers", "input_transformers_post", "input_transformers_cleanup")
HOOKS = ("displayhook", "excepthook", "stdout", "stderr")
CHECKS = "bertcourse.checks"


class Originals:
    """The functions as they are now.

    Args:
        setup: source of the assignment's setup cell; its imports are run here, nothing else of it.

    Attributes:
        names: what the imports bind, by name: ``check``, ``torch``.
    """

    def __init__(self, setup: str) -> None:
        self.names: dict[str, object] = {}
        imports = [node for node in ast.parse(setup).body if isinstance(node, ast.Import | ast.ImportFrom)]
        exec(compile(ast.Module(imports, []), "setup", "exec"), self.names)
        self.names.pop("__builtins__")
        if "bertcourse.checks" in sys.modules:
            package = sys.modules["bertcourse.checks"]
            for module in pkgutil.walk_packages(package.__path__, "bertcourse.checks."):
                importlib.import_module(module.name)
        names = [*ALWAYS, *(name for name in WITH_TORCH if name in sys.modules)]
        names += [name for name in sys.modules if name.split(".")[0] == "bertcourse"]
        self.modules = {name: sys.modules[name] for name in names}
        self.values: list[tuple[object, str, str, object]] = []
        self.codes: list[tuple[FunctionType, str, tuple]] = []
        self.tables: list[tuple[dict, str, dict]] = []
        self.inherited: dict[type, set[str]] = {}
        self.complete: list[tuple[object, str, set[str]]] = []
        for name, module in self.modules.items():
            self.keep(module, name)
        for name, value in self.names.items():
            if isinstance(value, FunctionType):
                self.codes.append((value, name, parts(value)))
        if "torch" in self.modules:
            tensor = self.modules["torch"].Tensor
            self.keep(tensor, "torch.Tensor")
            self.inherited[tensor] = {name for name in dir(tensor) if not name.startswith("_")} - set(vars(tensor))

    def keep(self, owner: object, path: str) -> None:
        """Remember the functions and classes of a module, and of its own classes the methods."""
        if path.startswith(CHECKS):  # nothing may be added either, such as a name that hides a builtin
            self.complete.append((owner, path, set(vars(owner))))
        for name, value in list(vars(owner).items()):
            if path.startswith(CHECKS) and isinstance(value, ModuleType):
                self.values.append((owner, name, f"{path}.{name}", value))
            if path.startswith(CHECKS) and name.isupper():
                self.values.append((owner, name, f"{path}.{name}", value))
                if isinstance(value, dict):
                    self.tables.append((value, f"{path}.{name}", dict(value)))
            function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            if (
                not callable(function)
                or name.startswith("_")
                and not name.startswith("__")
                and isinstance(owner, ModuleType)
            ):
                continue
            if (
                isinstance(owner, type)
                and not isinstance(function, FunctionType)
                and not path.startswith("torch.Tensor")
            ):
                continue
            if (
                name.startswith("__")
                and isinstance(owner, ModuleType)
                and name not in ("__import__", "__build_class__")
            ):
                continue
            self.values.append((owner, name, f"{path}.{name}", value))
            if isinstance(function, FunctionType):
                self.codes.append((function, f"{path}.{name}", parts(function)))
            if path.startswith("bertcourse.") and inspect.isclass(value) and value.__module__ == path:
                self.keep(value, f"{path}.{name}")

    def changes(
        self,
        namespace: dict[str, object],
        shell: object = None,
        put_back: bool = True,
        used: Collection[str] | None = None,
    ) -> list[str]:
        """What is no longer as it was.

        Args:
            namespace: the notebook's global names.
            shell: IPython's, if it runs there; ``keep_shell`` must have seen it.
            put_back: whether to put the originals back.
            used: the names of the setup cell's imports that matter; None for all. A student may have a ``random`` of
                their own where nothing graded asks for the module.

        Returns:
            The dotted names of what was changed, each once.
        """
        found = []
        for name, module in self.modules.items():
            if sys.modules.get(name) is not module:
                found.append(f"sys.modules[{name!r}]")
                sys.modules[name] = module
        for owner, name, path, value in self.values:
            if vars(owner).get(name) is not value:
                found.append(path)
                if put_back:
                    setattr(owner, name, value)
        for owner, path, known in self.complete:
            for name in sorted(set(vars(owner)) - known):
                if isinstance(owner, ModuleType) and name.startswith("__"):
                    continue
                found.append(f"{path}.{name}")
                if put_back:
                    delattr(owner, name)
        for owner, names in self.inherited.items():
            for name in sorted(names & set(vars(owner))):
                found.append(f"{owner.__module__}.{owner.__name__}.{name}")
                if put_back:
                    delattr(owner, name)
        for function, path, known in self.codes:
            if any(now is not then for now, then in zip(parts(function), known)):
                found.append(path)
                if put_back:
                    function.__code__, function.__defaults__, function.__kwdefaults__ = known
        for table, path, known in self.tables:
            if table.keys() != known.keys() or any(table[name] is not value for name, value in known.items()):
                found.append(path)
                if put_back:
                    table.clear()
                    table.update(known)
        for name, value in self.names.items():
            if name in namespace and namespace[name] is not value and (used is None or name in used):
                found.append(name)
                if put_back:
                    namespace[name] = value
        if shell is not None:
            found += self.changes_of_shell(shell, put_back)
        return list(dict.fromkeys(found))

    def keep_shell(self, shell: object) -> None:
        """Remember the parts of IPython that run a cell and show its result."""
        self.shell = {name: shell_part(shell, name) for name in (*SHELL, *SHELL_LISTS)}
        self.methods = {name: vars(type(shell)).get(name) for name in SHELL}
        self.callbacks = {name: list(each) for name, each in callbacks(shell).items()}
        self.lists = {name: list(getattr(shell, name, [])) for name in SHELL_LISTS}
        self.hooks = {name: getattr(sys, name) for name in HOOKS}

    def changes_of_shell(self, shell: object, put_back: bool) -> list[str]:
        """The same for IPython, and for what Python does with results, errors and text."""
        found = []
        for name, value in self.shell.items():
            if shell_part(shell, name) == value:
                continue
            found.append(f"get_ipython().{name}")
            if put_back and name in SHELL_LISTS:
                getattr(shell, name)[:] = self.lists[name]
            elif put_back:
                vars(shell).pop(name, None)  # what hides the class's own
                if self.methods[name] is not None and vars(type(shell)).get(name) is not self.methods[name]:
                    setattr(type(shell), name, self.methods[name])
        for name, each in callbacks(shell).items():
            kept = [one for one in each if one in self.callbacks[name] or is_librarys(one)]
            kept += [one for one in self.callbacks[name] if one not in kept]
            if list(map(id, each)) != list(map(id, kept)):
                found.append(f"get_ipython().events ({name})")
                if put_back:
                    each[:] = kept
        for name, value in self.hooks.items():
            if getattr(sys, name) is not value:
                found.append(f"sys.{name}")
                if put_back:
                    setattr(sys, name, value)
        return found


def parts(function: FunctionType) -> tuple:
    """What a function does: its code and default values."""
    return function.__code__, function.__defaults__, function.__kwdefaults__


def shell_part(shell: object, name: str) -> object:
    """A method's function, or the members of a list, of IPython's shell."""
    value = getattr(shell, name, None)
    return tuple(map(id, value)) if isinstance(value, list) else id(getattr(value, "__func__", value))


def is_librarys(callback: Callable) -> bool:
    """Whether it is what a library adds that draws in notebooks."""
    return str(getattr(callback, "__module__", "")).split(".")[0] in ("matplotlib", "matplotlib_inline", "ipywidgets")


def callbacks(shell: object) -> dict[str, list]:
    """What IPython calls before and after a cell."""
    return shell.events.callbacks if hasattr(shell, "events") else {}


def reporter(
    originals: Originals, report: Callable[[str, str], None]
) -> Callable[[dict, object, Collection[str] | None], None]:
    """A function that compares, puts back and reports."""

    def compare(namespace: dict, shell: object, used: Collection[str] | None = None) -> None:
        for name in originals.changes(namespace, shell, used=used):
            report("changed", f"it changed {name}; the original was put back for the graded cells")

    return compare
