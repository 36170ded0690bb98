"""How the packed form of a layer is found: by the layer's class."""

from collections.abc import Callable
from functools import singledispatch, update_wrapper
from typing import Any, TypeVar

from torch import Tensor

Form = TypeVar("Form", bound=Callable[..., Tensor])


class PackedForms:
    """A function of a layer and packed tokens: `functools.singledispatch` that also looks at the layer's `forward`.

    `through_padding` is for a layer without an entry: it goes through the padded form. `register` adds an entry for
    the class that the first argument is annotated with. A subclass has the entry of its base class only as long as it
    has its `forward`: with another one it is another function, so it goes through its padded form until it has an entry
    of its own.
    """

    def __init__(self, through_padding: Callable[..., Tensor]):
        self._forms = singledispatch(through_padding)
        update_wrapper(self, through_padding)

    def register(self, form: Form) -> Form:
        """Add the packed form of a class of layers; a decorator."""
        self._forms.register(form)
        return form

    def form_of(self, kind: Any) -> Callable[..., Tensor]:
        """Return the function that computes layers of the class `kind`."""
        forms = self._forms.registry
        registered = next(base for base in kind.__mro__ if base in forms)
        if registered is not object and kind.forward is not registered.forward:
            return forms[object]
        return forms[registered]

    def __call__(self, layer: Any, *inputs: Any) -> Tensor:
        """Compute the layer on packed tokens."""
        return self.form_of(type(layer))(layer, *inputs)
