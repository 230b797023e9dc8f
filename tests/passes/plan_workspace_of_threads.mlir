// RUN: mlirdev opt --pass-pipeline='builtin.module(plan-workspace{stack_bytes=64})' %s | filecheck %s

// What threads share lies in front, even if it is small, and shares memory only where a barrier is between: %a and %b
// are used in the same period, %c in the next. What is each thread's own comes after, once for every thread.

// CHECK: module attributes {mlirdev.thread_workspace = 4096 : i64, mlirdev.workspace = 4160 : i64}
func.func private @wants_threads() -> i1 {
  %true = arith.constant true
  return %true : i1
}
func.func private @mlirdev_barrier()
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: %[[THREAD:[a-z0-9]+]]: index, %[[THREADS:[a-z0-9]+]]: index, %[[WORKSPACE:[a-z0-9]+]]: memref<?xi8>
func.func @kernel(%error: memref<4xi64>, %thread: index, %threads: index, %workspace: memref<?xi8>, %x: f32) {
  %c0 = arith.constant 0 : index
  // CHECK: %[[OWN:.*]] = arith.muli %[[THREAD]], %c4096
  // CHECK: %[[START:.*]] = arith.addi %c4160{{.*}}, %[[OWN]]
  // CHECK: memref.view %[[WORKSPACE]][%c0{{.*}}][] : memref<?xi8> to memref<1024xf32>
  // CHECK: memref.view %[[WORKSPACE]][%c4096{{.*}}][] : memref<?xi8> to memref<4xf32>
  // CHECK: memref.view %[[WORKSPACE]][%[[START]]][] : memref<?xi8> to memref<1024xf32>
  %a = memref.alloc() {mlirdev.shared} : memref<1024xf32>
  %b = memref.alloc() {mlirdev.shared} : memref<4xf32>
  %own = memref.alloc() : memref<1024xf32>
  memref.store %x, %a[%c0] : memref<1024xf32>
  memref.store %x, %b[%c0] : memref<4xf32>
  memref.store %x, %own[%c0] : memref<1024xf32>
  func.call @mlirdev_barrier() : () -> ()
  // CHECK: memref.view %[[WORKSPACE]][%c0{{.*}}][] : memref<?xi8> to memref<512xf32>
  %c = memref.alloc() {mlirdev.shared} : memref<512xf32>
  memref.store %x, %c[%c0] : memref<512xf32>
  return
}
