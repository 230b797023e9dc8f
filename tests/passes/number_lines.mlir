// RUN: mlirdev opt --pass-pipeline=number-lines --mlir-print-debuginfo %s | filecheck %s

// Only locations change.

// CHECK-LABEL: llvm.func @kernel
llvm.func @kernel(%x: f32) -> f32 {
  // CHECK: llvm.fadd
  %y = llvm.fadd %x, %x : f32 loc("n3")
  llvm.return %y : f32
}
