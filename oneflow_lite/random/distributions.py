"""The distributions that NumPy's generators draw from: a row each, which is its declaration."""

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, TypeVar, cast

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.random.host import HostNumbers

Size = int | Sequence[int] | None
_Draw = TypeVar("_Draw", bound=Callable[..., Tensor])
_Class = TypeVar("_Class", bound=type)


def _draws(summary: str, example: str) -> Callable[[_Draw], _Draw]:
    """Make a declaration a row: each class of generators has a method for it.

    Where ``dtype`` may be given by its place, NumPy takes it, and draws float32 itself, instead of
    a cast of what was drawn.
    """

    def row(declared: _Draw) -> _Draw:
        return cast("_Draw", _Row(declared, summary, example))

    return row


class _Row:
    """A distribution, by the declaration of the method that draws from it."""

    def __init__(self, declared: Callable[..., Tensor], summary: str, example: str) -> None:
        self.summary, self.example = summary, example
        name, drawn = declared.__name__, inspect.signature(declared)
        own_dtype = drawn.parameters["dtype"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        each = [
            one.replace(annotation=inspect.Parameter.empty) for one in drawn.parameters.values()
        ]
        names = [one.name for one in each]
        given = ", ".join(names[1 : names.index("dtype")])
        text = f"""def {name}{inspect.Signature(each)}:
        return self._drawn({name!r}, ({given},), dtype, device, {own_dtype})"""
        scope: dict[str, Any] = {}
        exec(compile(text, __file__, "exec"), scope)  # of this file, which is no user's line
        self.draw = scope[name]

    def method(self, owner: type, made: str, numpys: Any) -> FunctionType:
        """Return the method of a class, whose objects, like NumPy's, are made by that text."""
        draw = FunctionType(self.draw.__code__, {}, argdefs=self.draw.__defaults__)
        draw.__kwdefaults__ = self.draw.__kwdefaults__
        draw.__module__, draw.__qualname__ = owner.__module__, f"{owner.__name__}.{draw.__name__}"
        draw.__annotations__ = {"return": Tensor}
        values = eval(f"rng.{draw.__name__}({self.example})", {"rng": numpys})
        draw.__doc__ = f"""Return {self.summary}; see ``numpy.random.{draw.__qualname__}``.

        Tensors among the parameters are looked at, and the result goes to their device.

        Examples
        --------
        >>> flow.random.{made}.{draw.__name__}({self.example}).tolist()
        {values.tolist()}
        """
        return draw


def draws_by(made: str, numpys: Callable[[], Any], path: Any) -> Callable[[_Class], _Class]:
    """Give a class of generators a method for each row that it has, or that its bases have.

    Parameters
    ----------
    made : str
        The text that makes an object of the class, with seed 0.
    numpys : callable
        Returns one of NumPy's, seeded with 0.
    path
        The native path of the methods.
    """

    def complete(owner: _Class) -> _Class:
        for name in dir(owner):
            row = inspect.getattr_static(owner, name)
            if isinstance(row, _Row):
                setattr(owner, name, _C.native(path)(row.method(owner, made, numpys())))
        return owner

    return complete


class Distributions(HostNumbers):
    """The distributions of ``Generator`` and of ``RandomState``, whose methods ``_drawn`` draw."""

    # fmt: off
    @_draws("numbers from [low, high)", "0.0, 1.0, 2")
    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Size = None, *, dtype: Any = None,
                device: DeviceLike = None) -> Tensor: ...

    @_draws("normally distributed numbers of mean loc and deviation scale", "0.0, 1.0, 2")
    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, *, dtype: Any = None,
               device: DeviceLike = None) -> Tensor: ...

    @_draws("beta-distributed numbers", "2.0, 3.0, 2")
    def beta(self, a: Any, b: Any, size: Size = None, *, dtype: Any = None,
             device: DeviceLike = None) -> Tensor: ...

    @_draws("how many of n trials succeed with probability p", "10, 0.5, 4")
    def binomial(self, n: Any, p: Any, size: Size = None, *, dtype: Any = None,
                 device: DeviceLike = None) -> Tensor: ...

    @_draws("chi-square-distributed numbers", "2.0, 2")
    def chisquare(self, df: Any, size: Size = None, *, dtype: Any = None, device: DeviceLike = None,
                  ) -> Tensor: ...

    @_draws("Dirichlet-distributed rows", "[1.0, 2.0]")
    def dirichlet(self, alpha: Any, size: Size = None, *, dtype: Any = None,
                  device: DeviceLike = None) -> Tensor: ...

    @_draws("exponentially distributed numbers", "2.0, 2")
    def exponential(self, scale: Any = 1.0, size: Size = None, *, dtype: Any = None,
                    device: DeviceLike = None) -> Tensor: ...

    @_draws("F-distributed numbers", "2.0, 3.0, 2")
    def f(self, dfnum: Any, dfden: Any, size: Size = None, *, dtype: Any = None,
          device: DeviceLike = None) -> Tensor: ...

    @_draws("gamma-distributed numbers", "2.0, 3.0, 2")
    def gamma(self, shape: Any, scale: Any = 1.0, size: Size = None, *, dtype: Any = None,
              device: DeviceLike = None) -> Tensor: ...

    @_draws("how many trials the first success takes", "0.3, 4")
    def geometric(self, p: Any, size: Size = None, *, dtype: Any = None, device: DeviceLike = None,
                  ) -> Tensor: ...

    @_draws("Gumbel-distributed numbers", "0.0, 1.0, 2")
    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, *, dtype: Any = None,
               device: DeviceLike = None) -> Tensor: ...

    @_draws("how many good ones a sample has", "5, 5, 4, 3")
    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Size = None, *,
                       dtype: Any = None, device: DeviceLike = None) -> Tensor: ...

    @_draws("Laplace-distributed numbers", "0.0, 1.0, 2")
    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, *, dtype: Any = None,
                device: DeviceLike = None) -> Tensor: ...

    @_draws("logistically distributed numbers", "0.0, 1.0, 2")
    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, *, dtype: Any = None,
                 device: DeviceLike = None) -> Tensor: ...

    @_draws("log-normally distributed numbers", "0.0, 1.0, 2")
    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Size = None, *, dtype: Any = None,
                  device: DeviceLike = None) -> Tensor: ...

    @_draws("logarithmically distributed integers", "0.6, 4")
    def logseries(self, p: Any, size: Size = None, *, dtype: Any = None, device: DeviceLike = None,
                  ) -> Tensor: ...

    @_draws("how often each outcome occurs in n trials", "10, [0.3, 0.7]")
    def multinomial(self, n: Any, pvals: Any, size: Size = None, *, dtype: Any = None,
                    device: DeviceLike = None) -> Tensor: ...

    @_draws("how many trials fail before n succeed", "3, 0.5, 4")
    def negative_binomial(self, n: Any, p: Any, size: Size = None, *, dtype: Any = None,
                          device: DeviceLike = None) -> Tensor: ...

    @_draws("noncentral chi-square-distributed numbers", "2.0, 1.0, 2")
    def noncentral_chisquare(self, df: Any, nonc: Any, size: Size = None, *, dtype: Any = None,
                             device: DeviceLike = None) -> Tensor: ...

    @_draws("noncentral F-distributed numbers", "2.0, 3.0, 1.0, 2")
    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Size = None, *,
                     dtype: Any = None, device: DeviceLike = None) -> Tensor: ...

    @_draws("Pareto-distributed numbers", "3.0, 2")
    def pareto(self, a: Any, size: Size = None, *, dtype: Any = None, device: DeviceLike = None,
               ) -> Tensor: ...

    @_draws("Poisson-distributed integers", "4.0, 4")
    def poisson(self, lam: Any = 1.0, size: Size = None, *, dtype: Any = None,
                device: DeviceLike = None) -> Tensor: ...

    @_draws("power-distributed numbers", "3.0, 2")
    def power(self, a: Any, size: Size = None, *, dtype: Any = None, device: DeviceLike = None,
              ) -> Tensor: ...

    @_draws("Rayleigh-distributed numbers", "2.0, 2")
    def rayleigh(self, scale: Any = 1.0, size: Size = None, *, dtype: Any = None,
                 device: DeviceLike = None) -> Tensor: ...

    @_draws("Cauchy-distributed numbers", "2")
    def standard_cauchy(self, size: Size = None, *, dtype: Any = None, device: DeviceLike = None,
                        ) -> Tensor: ...

    @_draws("Student's t-distributed numbers", "3.0, 2")
    def standard_t(self, df: Any, size: Size = None, *, dtype: Any = None,
                   device: DeviceLike = None) -> Tensor: ...

    @_draws("numbers of a triangular distribution", "0.0, 1.0, 3.0, 2")
    def triangular(self, left: Any, mode: Any, right: Any, size: Size = None, *, dtype: Any = None,
                   device: DeviceLike = None) -> Tensor: ...

    @_draws("von Mises-distributed angles", "0.0, 4.0, 2")
    def vonmises(self, mu: Any, kappa: Any, size: Size = None, *, dtype: Any = None,
                 device: DeviceLike = None) -> Tensor: ...

    @_draws("Wald-distributed numbers", "3.0, 2.0, 2")
    def wald(self, mean: Any, scale: Any, size: Size = None, *, dtype: Any = None,
             device: DeviceLike = None) -> Tensor: ...

    @_draws("Weibull-distributed numbers", "2.0, 2")
    def weibull(self, a: Any, size: Size = None, *, dtype: Any = None, device: DeviceLike = None,
                ) -> Tensor: ...

    @_draws("Zipf-distributed integers", "3.0, 4")
    def zipf(self, a: Any, size: Size = None, *, dtype: Any = None, device: DeviceLike = None,
             ) -> Tensor: ...
    # fmt: on


class GeneratorDistributions(Distributions):
    """Those of ``Generator`` that a ``RandomState`` has not, or with other parameters."""

    # fmt: off
    @_draws("numbers from [0, 1)", "2")
    def random(self, size: Size = None, dtype: Any = None, *, device: DeviceLike = None,
               ) -> Tensor: ...

    @_draws("normally distributed numbers of mean 0 and deviation 1", "2")
    def standard_normal(self, size: Size = None, dtype: Any = None, *, device: DeviceLike = None,
                        ) -> Tensor: ...

    @_draws("gamma-distributed numbers of scale 1", "2.0, 2")
    def standard_gamma(self, shape: Any, size: Size = None, dtype: Any = None, *,
                       device: DeviceLike = None) -> Tensor: ...

    @_draws("how many of each color a sample has", "[5, 3, 2], 4")
    def multivariate_hypergeometric(self, colors: Any, nsample: Any, size: Size = None,
                                    method: str = "marginals", *, dtype: Any = None,
                                    device: DeviceLike = None) -> Tensor: ...
    # fmt: on


class LegacyDistributions(Distributions):
    """Those of ``RandomState`` that a ``Generator`` has not, or with other parameters."""

    # fmt: off
    @_draws("numbers from [0, 1)", "2")
    def random(self, size: Size = None, *, dtype: Any = None, device: DeviceLike = None,
               ) -> Tensor: ...

    @_draws("numbers from [0, 1)", "2")
    def random_sample(self, size: Size = None, *, dtype: Any = None, device: DeviceLike = None,
                      ) -> Tensor: ...

    @_draws("normally distributed numbers of mean 0 and deviation 1", "2")
    def standard_normal(self, size: Size = None, *, dtype: Any = None, device: DeviceLike = None,
                        ) -> Tensor: ...

    @_draws("exponentially distributed numbers of mean 1", "2")
    def standard_exponential(self, size: Size = None, *, dtype: Any = None,
                             device: DeviceLike = None) -> Tensor: ...

    @_draws("gamma-distributed numbers of scale 1", "2.0, 2")
    def standard_gamma(self, shape: Any, size: Size = None, *, dtype: Any = None,
                       device: DeviceLike = None) -> Tensor: ...

    @_draws("normally distributed vectors", "[0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]]")
    def multivariate_normal(self, mean: Any, cov: Any, size: Size = None, check_valid: str = "warn",
                            tol: float = 1e-8, *, dtype: Any = None, device: DeviceLike = None,
                            ) -> Tensor: ...

    @_draws("integers from [0, 2**63)", "2")
    def tomaxint(self, size: Size = None, *, dtype: Any = None, device: DeviceLike = None,
                 ) -> Tensor: ...
    # fmt: on
