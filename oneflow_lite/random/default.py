"""The generator that the functions of ``flow.random`` draw from: they are its methods."""

from oneflow_lite.random.generator import Generator


class _Default(Generator):
    """The generator of the module's functions, which are pickled by name."""

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
gumbel = _DEFAULT.gumbel
hypergeometric = _DEFAULT.hypergeometric
integers = _DEFAULT.integers
laplace = _DEFAULT.laplace
logistic = _DEFAULT.logistic
lognormal = _DEFAULT.lognormal
logseries = _DEFAULT.logseries
multinomial = _DEFAULT.multinomial
multivariate_hypergeometric = _DEFAULT.multivariate_hypergeometric
multivariate_normal = _DEFAULT.multivariate_normal
negative_binomial = _DEFAULT.negative_binomial
noncentral_chisquare = _DEFAULT.noncentral_chisquare
noncentral_f = _DEFAULT.noncentral_f
normal = _DEFAULT.normal
pareto = _DEFAULT.pareto
permutation = _DEFAULT.permutation
permuted = _DEFAULT.permuted
poisson = _DEFAULT.poisson
power = _DEFAULT.power
random = _DEFAULT.random
rayleigh = _DEFAULT.rayleigh
seed = _DEFAULT.seed
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
    "gumbel",
    "hypergeometric",
    "integers",
    "laplace",
    "logistic",
    "lognormal",
    "logseries",
    "multinomial",
    "multivariate_hypergeometric",
    "multivariate_normal",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "normal",
    "pareto",
    "permutation",
    "permuted",
    "poisson",
    "power",
    "random",
    "rayleigh",
    "seed",
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
