#include "tensor/elements.h"

#include "ops/kernel.h"

namespace ofl {

bool read_element(vm::VirtualMachine& machine, const Tensor& x, Scalar* element) {
  if (!x.storage->on_host()) return false;
  machine.note_look();
  if (x.storage->is_settled()) {
    copy_element(x.address(), size_of(x.dtype), element->bytes);
    return true;
  }
  const vm::Operand read{&x.storage->dependence(), vm::Access::read};
  vm::InlineScope here(machine, &read, 1);
  if (!here) return false;
  copy_element(x.address(), size_of(x.dtype), element->bytes);
  return true;
}

bool write_element(vm::VirtualMachine& machine, TensorStorage& storage, int64_t offset, DType dtype,
                   const Scalar& element) {
  char* const data = storage.writable() ? settled_data(machine, storage) : nullptr;
  if (!data) return false;
  copy_element(element.bytes, size_of(dtype), data + offset);
  return true;
}

bool write_element(vm::VirtualMachine& machine, TensorStorage& storage, int64_t offset, DType dtype,
                   const Tensor& element) {
  char* const data = storage.writable() ? settled_data(machine, storage) : nullptr;
  const char* const source = settled_data(machine, *element.storage);
  const bool may_lose_part =
      info(element.dtype).kind == DTypeKind::complex && element.dtype != dtype;
  if (!data || !source || may_lose_part) return false;
  Scalar value;  // the two may overlap
  if (element.dtype == dtype) {
    copy_element(source + element.offset, size_of(dtype), value.bytes);
  } else {
    const ops::CastFn cast = ops::cast_function(element.dtype, dtype);
    cast(source + element.offset, 0, reinterpret_cast<char*>(value.bytes), 0, 1);
  }
  copy_element(value.bytes, size_of(dtype), data + offset);
  return true;
}

}  // namespace ofl
