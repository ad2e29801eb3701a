#include "python/random/distributions.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "python/sequences.h"

namespace ofl::python {

namespace {

using Draw0 = double (*)(bitgen_t*);
using Draw1 = double (*)(bitgen_t*, double);
using Draw2 = double (*)(bitgen_t*, double, double);
using Draw3 = double (*)(bitgen_t*, double, double, double);
using Count1 = int64_t (*)(bitgen_t*, double);
using Count2 = int64_t (*)(bitgen_t*, double, double);

/// Parameters with which NumPy's method does nothing but call the function.
bool always(const double*) { return true; }
bool one_positive(const double* p) { return p[0] > 0; }
bool two_positive(const double* p) { return p[0] > 0 && p[1] > 0; }
bool second_positive(const double* p) { return p[1] > 0; }
bool ordered(const double* p) { return p[0] <= p[1] && p[1] <= p[2] && p[0] < p[2]; }
bool is_mean(const double* p) { return p[0] > 0 && p[0] < 1e9; }
bool is_chance(const double* p) { return p[0] > 0 && p[0] <= 1; }
bool below_one(const double* p) { return p[0] >= 0 && p[0] < 1; }
bool above_one(const double* p) { return p[0] > 1; }
bool count_and_chance(const double* p) {
  return p[0] > 0 && is_chance(p + 1) && (1 - p[1]) / p[1] * (p[0] + 10 * std::sqrt(p[0])) < 1e9;
}
/// NumPy refuses -0.0, too.
bool is_shift(double x) { return x >= 0 && !std::signbit(x); }
bool one_and_shift(const double* p) { return p[0] > 0 && is_shift(p[1]); }
bool two_and_shift(const double* p) { return two_positive(p) && is_shift(p[2]); }

constexpr Distribution kDistributions[] = {
    {"random", "random_standard_uniform", 0, always, DType::f64, "random_standard_uniform_fill",
     "random_standard_uniform_fill_f", ops::Numbers::uniform},
    {"uniform", "random_uniform", 2, second_positive, DType::f64, nullptr, nullptr,
     ops::Numbers::uniform},
    {"normal", "random_normal", 2, second_positive, DType::f64, nullptr, nullptr,
     ops::Numbers::normal},
    {"standard_normal", "random_standard_normal", 0, always, DType::f64,
     "random_standard_normal_fill", "random_standard_normal_fill_f", ops::Numbers::normal},
    {"exponential", "random_exponential", 1, one_positive, DType::f64, nullptr, nullptr,
     ops::Numbers::exponential},
    {"standard_exponential", "random_standard_exponential", 0, always, DType::f64,
     "random_standard_exponential_fill", "random_standard_exponential_fill_f",
     ops::Numbers::exponential},
    {"poisson", "random_poisson", 1, is_mean, DType::i64},
    {"geometric", "random_geometric", 1, is_chance, DType::i64},
    {"logseries", "random_logseries", 1, below_one, DType::i64},
    {"zipf", "random_zipf", 1, above_one, DType::i64},
    {"negative_binomial", "random_negative_binomial", 2, count_and_chance, DType::i64},
    {"noncentral_chisquare", "random_noncentral_chisquare", 2, one_and_shift},
    {"noncentral_f", "random_noncentral_f", 3, two_and_shift},
    {"gamma", "random_gamma", 2, two_positive},
    {"standard_gamma", "random_standard_gamma", 1, one_positive},
    {"beta", "random_beta", 2, two_positive},
    {"lognormal", "random_lognormal", 2, second_positive},
    {"laplace", "random_laplace", 2, second_positive},
    {"logistic", "random_logistic", 2, second_positive},
    {"gumbel", "random_gumbel", 2, second_positive},
    {"chisquare", "random_chisquare", 1, one_positive},
    {"f", "random_f", 2, two_positive},
    {"standard_t", "random_standard_t", 1, one_positive},
    {"standard_cauchy", "random_standard_cauchy", 0, always},
    {"pareto", "random_pareto", 1, one_positive},
    {"power", "random_power", 1, one_positive},
    {"weibull", "random_weibull", 1, one_positive},
    {"wald", "random_wald", 2, two_positive},
    {"vonmises", "random_vonmises", 2, second_positive},
    {"triangular", "random_triangular", 3, ordered},
};

/// A RandomState draws these by the inverse of the distribution function, and a Generator in other
/// ways. The numbers of a RandomState never change.
double inverse_exponential(bitgen_t* bits) {
  return -std::log(1.0 - bits->next_double(bits->state));
}
double inverse_scaled(bitgen_t* bits, double scale) { return scale * inverse_exponential(bits); }
double inverse_pareto(bitgen_t* bits, double a) {
  return std::exp(inverse_exponential(bits) / a) - 1;
}
double inverse_weibull(bitgen_t* bits, double a) {
  return std::pow(inverse_exponential(bits), 1.0 / a);
}
double inverse_power(bitgen_t* bits, double a) {
  return std::pow(1 - std::exp(-inverse_exponential(bits)), 1.0 / a);
}
double inverse_rayleigh(bitgen_t* bits, double mode) {
  return mode * std::sqrt(-2.0 * std::log1p(-bits->next_double(bits->state)));
}

template <typename Function>
Distribution own_row(const char* method, int parameters, bool (*fits)(const double*),
                     Function* draw) {
  Distribution row{method, nullptr, parameters, fits};
  row.own = reinterpret_cast<void*>(draw);
  return row;
}

/// Above, a Generator takes the normal distribution instead.
bool is_broad(const double* p) { return p[1] > 0 && p[1] <= 1e6; }
/// Below, a Generator does not search.
bool is_likely(const double* p) { return p[0] >= 0.34 && p[0] <= 1; }

const Distribution kLegacyDistributions[] = {
    {"random", "random_standard_uniform", 0, always, DType::f64, "random_standard_uniform_fill"},
    {"random_sample", "random_standard_uniform", 0, always, DType::f64,
     "random_standard_uniform_fill"},
    {"uniform", "random_uniform", 2, always},
    {"laplace", "random_laplace", 2, second_positive},
    {"logistic", "random_logistic", 2, second_positive},
    {"gumbel", "random_gumbel", 2, second_positive},
    {"triangular", "random_triangular", 3, ordered},
    {"vonmises", "random_vonmises", 2, is_broad},
    {"poisson", "random_poisson", 1, is_mean, DType::i64},
    {"geometric", "random_geometric", 1, is_likely, DType::i64},
    {"logseries", "random_logseries", 1, below_one, DType::i64},
    own_row("standard_exponential", 0, always, inverse_exponential),
    own_row("exponential", 1, one_positive, inverse_scaled),
    own_row("pareto", 1, one_positive, inverse_pareto),
    own_row("weibull", 1, one_positive, inverse_weibull),
    own_row("power", 1, one_positive, inverse_power),
    own_row("rayleigh", 1, one_positive, inverse_rayleigh),
};

double draw_one(const Found& found, bitgen_t* bits, const double* p) {
  switch (found.row->parameters) {
    case 0: return reinterpret_cast<Draw0>(found.draw)(bits);
    case 1: return reinterpret_cast<Draw1>(found.draw)(bits, p[0]);
    case 2: return reinterpret_cast<Draw2>(found.draw)(bits, p[0], p[1]);
    default: return reinterpret_cast<Draw3>(found.draw)(bits, p[0], p[1], p[2]);
  }
}

int64_t count_one(const Found& found, bitgen_t* bits, const double* p) {
  if (found.row->parameters == 1) return reinterpret_cast<Count1>(found.draw)(bits, p[0]);
  return reinterpret_cast<Count2>(found.draw)(bits, p[0], p[1]);
}

/// A finite number of Python's or NumPy's.
bool read_parameter(PyObject* object, double* out) {
  Scalar number;
  if (!store_number(object, DType::f64, &number)) return false;
  std::memcpy(out, number.bytes, sizeof *out);
  return std::isfinite(*out);
}

}  // namespace

namespace {

/// NumPy's extension module, or null. The GIL guards it: an import may let other threads come here,
/// so no lock of C++ may be held.
void* numpy_library() {
  static bool is_open = false;
  static void* library = nullptr;
  if (!is_open) {
    const Reference module(checked(PyImport_ImportModule("numpy.random._generator")));
    const Reference file(checked(PyObject_GetAttrString(module.get(), "__file__")));
    const char* const path = PyUnicode_AsUTF8(file.get());
    if (!path) throw PythonErrorSet{};
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    is_open = true;
  }
  return library;
}

}  // namespace

void* numpy_function(const char* name) {
  void* const library = numpy_library();
  return library ? dlsym(library, name) : nullptr;
}

namespace {

/// The GIL guards the table: no import while it is made.
template <size_t count>
const Found* find_in(const Distribution (&rows)[count], Found (&table)[count], PyObject* method) {
  numpy_library();
  if (!table[0].row) {
    const auto find = [](const char* name) { return name ? numpy_function(name) : nullptr; };
    for (size_t i = 0; i < count; ++i) {
      const Distribution& row = rows[i];
      table[i] = {&row, method_name(row.method), row.own ? row.own : find(row.symbol),
                  reinterpret_cast<Fill>(find(row.fill)),
                  reinterpret_cast<FillSingle>(find(row.fill_single))};
    }
  }
  const Found* const found =
      std::find_if(table, table + count, [&](const Found& x) { return x.method == method; });
  return found == table + count || !found->draw ? nullptr : found;
}

}  // namespace

const Found* find_distribution(PyObject* method) {
  static Found table[std::size(kDistributions)];
  return find_in(kDistributions, table, method);
}

const Found* find_legacy_distribution(PyObject* method) {
  static Found table[std::size(kLegacyDistributions)];
  return find_in(kLegacyDistributions, table, method);
}

bool read_parameters(const Found& found, Arguments args, double* out) {
  for (int i = 0; i < found.row->parameters; ++i) {
    if (!read_parameter(args[i], &out[i])) return false;
  }
  static PyObject* const uniform = method_name("uniform");
  if (found.method == uniform) out[1] -= out[0];  // the width of the interval
  return (found.method != uniform || std::isfinite(out[1])) && found.row->fits(out);
}

void draw_some(const Found& found, bitgen_t* bits, const double* p, DType dtype, int64_t count,
               void* out) {
  if (dtype == DType::f32) return found.fill_single(bits, count, static_cast<float*>(out));
  auto* const reals = static_cast<double*>(out);
  auto* const integers = static_cast<int64_t*>(out);
  if (found.fill) return found.fill(bits, count, reals);
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == DType::i64) {
      integers[i] = count_one(found, bits, p);
    } else {
      reals[i] = draw_one(found, bits, p);
    }
  }
}

}  // namespace ofl::python
