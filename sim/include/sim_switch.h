// Switching between stacks: assembler on x86-64 (a system call each way less), ucontext elsewhere.
#ifndef SIM_SWITCH_H_
#define SIM_SWITCH_H_

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace sim {

constexpr size_t kStackBytes = size_t{64} << 10;

#if defined(__x86_64__)

struct Stack {
  void* pointer;  // where the registers are saved
};

// Saves what a call preserves, on the old stack, and takes it from the new one.
extern "C" void sim_switch_stack(void** save, void* load);
asm(R"(
  .text
  .hidden sim_switch_stack
  .globl sim_switch_stack
  .type sim_switch_stack, @function
sim_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size sim_switch_stack, .-sim_switch_stack
)");

inline void switch_stack(Stack& from, const Stack& to) {
  sim_switch_stack(&from.pointer, to.pointer);
}

/// `memory` has kStackBytes and is aligned to 16.
inline void prepare_stack(Stack& stack, char* memory, void (*body)()) {
  constexpr int kSaved = 6;
  void** top = reinterpret_cast<void**>(memory + kStackBytes);
  *--top = nullptr;  // so that `body` starts with the alignment that a call gives
  *--top = reinterpret_cast<void*>(body);
  for (int i = 0; i < kSaved; ++i) *--top = nullptr;
  stack.pointer = top;
}

#else

struct Stack {
  ucontext_t context;
};

inline void switch_stack(Stack& from, const Stack& to) { swapcontext(&from.context, &to.context); }

inline void prepare_stack(Stack& stack, char* memory, void (*body)()) {
  getcontext(&stack.context);
  stack.context.uc_stack.ss_sp = memory;
  stack.context.uc_stack.ss_size = kStackBytes;
  stack.context.uc_link = nullptr;
  makecontext(&stack.context, body, 0);
}

#endif

}  // namespace sim

#endif
