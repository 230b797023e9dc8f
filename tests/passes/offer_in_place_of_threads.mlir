// RUN: mlirdev opt --pass-pipeline='builtin.module(offer-in-place)' %s | filecheck %s

// Threads have rows of their own. y over x, as each row is read by the thread that writes it. z not over x: another
// thread may still read the row. w over x again, behind a barrier.

// CHECK: module attributes {mlirdev.in_place = array<i64: 1, 0, 3, 0>}
func.func private @wants_threads() -> i1 {
  %true = arith.constant true
  return %true : i1
}
func.func private @mlirdev_barrier()
func.func @kernel(%error: memref<4xi64>, %thread: index, %threads: index, %workspace: memref<?xi8>,
                  %x: memref<16x16xf32>, %y: memref<16x16xf32>, %z: memref<16x16xf32>, %w: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  %start = arith.muli %thread, %c8 : index
  %stop = arith.addi %start, %c8 : index
  scf.for %i = %start to %stop step %c1 {
    scf.for %j = %c0 to %c16 step %c1 {
      %a = memref.load %x[%i, %j] : memref<16x16xf32>
      memref.store %a, %y[%i, %j] : memref<16x16xf32>
    }
  }
  scf.for %i = %start to %stop step %c1 {
    memref.store %one, %z[%i, %c0] : memref<16x16xf32>
  }
  func.call @mlirdev_barrier() : () -> ()
  scf.for %i = %start to %stop step %c1 {
    memref.store %one, %w[%i, %c0] : memref<16x16xf32>
  }
  return
}
