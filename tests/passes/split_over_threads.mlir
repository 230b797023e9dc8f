// RUN: mlirdev opt --pass-pipeline='builtin.module(split-over-threads{least_work=64})' %s | filecheck %s

// Each thread takes its share of both loops. The second one reads what others have written in the first, and the store
// between them is thread 0's alone; the scratch of the first loop's iterations is each thread's own.

// CHECK: func.func private @mlirdev_barrier(index, index)
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: %[[THREAD:[a-z0-9]+]]: index, %[[THREADS:[a-z0-9]+]]: index
// CHECK-DAG: %[[Y:.*]] = memref.extract_aligned_pointer_as_index %arg6
// CHECK-DAG: %[[W:.*]] = memref.extract_aligned_pointer_as_index %arg3
func.func @kernel(%e: memref<4xi64>, %t: index, %ts: index, %w: memref<?xi8>, %n: index, %x: memref<8x?xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: memref.alloc() : memref<1xf32>
  // CHECK: memref.alloc() {mlirdev.shared} : memref<8xf32>
  %scratch = memref.alloc() : memref<1xf32>
  %sums = memref.alloc() : memref<8xf32>
  // CHECK: %[[SHARE:.*]] = arith.divui
  // CHECK: %[[FIRST:.*]] = arith.muli %[[THREAD]], %[[SHARE]]
  // CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %[[SHARE]]
  // CHECK: %[[LAST:.*]] = arith.minsi %[[END]]
  // CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]]
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %zero, %scratch[%c0] : memref<1xf32>
    scf.for %j = %c0 to %n step %c1 {
      %a = memref.load %x[%i, %j] : memref<8x?xf32>
      %b = memref.load %scratch[%c0] : memref<1xf32>
      %c = arith.addf %a, %b : f32
      memref.store %c, %scratch[%c0] : memref<1xf32>
    }
    %s = memref.load %scratch[%c0] : memref<1xf32>
    memref.store %s, %sums[%i] : memref<8xf32>
  } {mlirdev.parallel}
  // CHECK: call @mlirdev_barrier
  // CHECK: %[[FIRST_THREAD:.*]] = arith.cmpi eq, %[[THREAD]]
  // CHECK: scf.if %[[FIRST_THREAD]]
  // CHECK-NEXT: memref.store
  memref.store %zero, %sums[%c0] : memref<8xf32>
  // CHECK: call @mlirdev_barrier
  // CHECK: scf.for
  scf.for %i = %c0 to %c8 step %c1 {
    %r = arith.subi %c8, %i : index
    %k = arith.subi %r, %c1 : index
    %s = memref.load %sums[%k] : memref<8xf32>
    memref.store %s, %y[%i] : memref<8xf32>
  } {mlirdev.parallel}
  // CHECK-NOT: call @mlirdev_barrier
  // CHECK: return
  return
}
// CHECK: func.func private @wants_threads(%[[N:.*]]: index) -> i1
// CHECK: %[[INNER:.*]] = arith.muli %[[N]], %{{.*}} : index
// CHECK: arith.cmpi uge, %{{.*}}, %{{.*}} : index
