// RUN: mlirdev opt --pass-pipeline='builtin.module(plan-workspace{stack_bytes=64})' %s | filecheck %s

// A small temporary goes on the stack. Of three large ones, two are never needed at once and share their place.

// CHECK: module attributes {mlirdev.thread_workspace = 0 : i64, mlirdev.workspace = 8192 : i64}
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: %[[WORKSPACE:[a-z0-9]+]]: memref<?xi8>
func.func @kernel(%error: memref<4xi64>, %thread: index, %threads: index, %workspace: memref<?xi8>, %x: f32, %n: index) {
  %c0 = arith.constant 0 : index
  // CHECK: memref.alloca() {alignment = 64 : i64} : memref<4xf32>
  %small = memref.alloc() : memref<4xf32>
  memref.store %x, %small[%c0] : memref<4xf32>
  // CHECK: memref.view %[[WORKSPACE]][%{{.*}}][] : memref<?xi8> to memref<1024xf32>
  // CHECK: memref.view %[[WORKSPACE]][%{{.*}}][] : memref<?xi8> to memref<1024xf32>
  %a = memref.alloc() : memref<1024xf32>
  %b = memref.alloc() : memref<1024xf32>
  memref.store %x, %a[%c0] : memref<1024xf32>
  memref.store %x, %b[%c0] : memref<1024xf32>
  %y = memref.load %a[%c0] : memref<1024xf32>
  // CHECK: memref.view %[[WORKSPACE]][%{{.*}}][] : memref<?xi8> to memref<1024xf32>
  %c = memref.alloc() : memref<1024xf32>
  memref.store %x, %c[%c0] : memref<1024xf32>
  // CHECK: %[[DYNAMIC:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
  %d = memref.alloc(%n) : memref<?xf32>
  memref.store %x, %d[%c0] : memref<?xf32>
  // CHECK: memref.dealloc %[[DYNAMIC]]
  return
}
