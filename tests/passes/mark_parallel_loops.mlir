// RUN: mlirdev opt --pass-pipeline='builtin.module(mark-parallel-loops)' %s | filecheck %s

// CHECK-DAG: #[[GROUP:.*]] = #llvm.access_group<id = distinct
// CHECK-DAG: #[[LOOP:.*]] = #llvm.loop_annotation<parallelAccesses = #[[GROUP]]>
llvm.func @kernel(%p: !llvm.ptr, %n: i64) {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^head(%c0 : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %n : i64
  llvm.cond_br %more, ^body, ^end
^body:
  %at = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK: llvm.load {{.*}} {access_groups = [#[[GROUP]]]
  %x = llvm.load %at : !llvm.ptr -> f32
  // CHECK: llvm.store {{.*}} {access_groups = [#[[GROUP]]]
  llvm.store %x, %at : f32, !llvm.ptr
  %next = llvm.add %i, %c1 : i64
  // CHECK: llvm.br {{.*}} {loop_annotation = #[[LOOP]]}
  llvm.br ^head(%next : i64) {llvm.loop_annotation = #llvm.loop_annotation<mustProgress = true>}
^end:
  llvm.return
}
