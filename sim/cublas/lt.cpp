// libcublasLt has nothing: it is there because finders of cuBLAS load it first.
namespace simcublas {
extern const int nothing;
const int nothing = 0;
}  // namespace simcublas
