"""The stream that the functions of ``flow.random`` draw from: they are its methods.

It is a ``RandomState``, as NumPy's is, but not NumPy's own: ``numpy.random.seed`` leaves it alone.
"""

from oneflow_lite.random.random_state import RandomState


class _Default(RandomState):
    """The stream of the module's functions, which are pickled by name."""

    def __reduce__(self) -> str:
        return "_DEFAULT"


_DEFAULT = _Default()

beta = _DEFAULT.beta
binomial = _DEFAULT.binomial
bytes = _DEFAULT.bytes
chisquare = _DEFAULT.chisquare
choice = _DEFAULT.choice
dirichlet = _DEFAULT.dirichlet
exponential = _DEFAULT.exponential
f = _DEFAULT.f
gamma = _DEFAULT.gamma
geometric = _DEFAULT.geometric
get_state = _DEFAULT.get_state
gumbel = _DEFAULT.gumbel
hypergeometric = _DEFAULT.hypergeometric
laplace = _DEFAULT.laplace
logistic = _DEFAULT.logistic
lognormal = _DEFAULT.lognormal
logseries = _DEFAULT.logseries
multinomial = _DEFAULT.multinomial
multivariate_normal = _DEFAULT.multivariate_normal
negative_binomial = _DEFAULT.negative_binomial
noncentral_chisquare = _DEFAULT.noncentral_chisquare
noncentral_f = _DEFAULT.noncentral_f
normal = _DEFAULT.normal
pareto = _DEFAULT.pareto
permutation = _DEFAULT.permutation
poisson = _DEFAULT.poisson
power = _DEFAULT.power
rand = _DEFAULT.rand
randint = _DEFAULT.randint
randn = _DEFAULT.randn
random = _DEFAULT.random
random_sample = _DEFAULT.random_sample
ranf = _DEFAULT.random_sample
rayleigh = _DEFAULT.rayleigh
sample = _DEFAULT.random_sample
seed = _DEFAULT.seed
set_state = _DEFAULT.set_state
shuffle = _DEFAULT.shuffle
standard_cauchy = _DEFAULT.standard_cauchy
standard_exponential = _DEFAULT.standard_exponential
standard_gamma = _DEFAULT.standard_gamma
standard_normal = _DEFAULT.standard_normal
standard_t = _DEFAULT.standard_t
triangular = _DEFAULT.triangular
uniform = _DEFAULT.uniform
vonmises = _DEFAULT.vonmises
wald = _DEFAULT.wald
weibull = _DEFAULT.weibull
zipf = _DEFAULT.zipf

__all__ = [
    "beta",
    "binomial",
    "bytes",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "f",
    "gamma",
    "geometric",
    "get_state",
    "gumbel",
    "hypergeometric",
    "laplace",
    "logistic",
    "lognormal",
    "logseries",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "rand",
    "randint",
    "randn",
    "random",
    "random_sample",
    "ranf",
    "rayleigh",
    "sample",
    "seed",
    "set_state",
    "shuffle",
    "standard_cauchy",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
    "triangular",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
]
