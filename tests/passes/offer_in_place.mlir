// RUN: mlirdev opt --pass-pipeline='builtin.module(offer-in-place)' %s | filecheck %s

// Arguments from the fifth on are params and results; places are counted over these.

// y over x, element by element. z over x, too, though read in two ways: a row's maximum before any of it is written.
// Not w over x: a row of x is read when a column of w is written.

// CHECK: module attributes {mlirdev.in_place = array<i64: 1, 0, 2, 0>}
// CHECK-LABEL: func.func @kernel
func.func @kernel(%error: memref<4xi64>, %thread: index, %threads: index, %workspace: memref<?xi8>,
                  %x: memref<16x16xf32>, %y: memref<16x16xf32>, %z: memref<16x16xf32>, %w: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %least = arith.constant 0xFF800000 : f32
  scf.for %i = %c0 to %c16 step %c1 {
    %max = scf.for %j = %c0 to %c16 step %c1 iter_args(%m = %least) -> (f32) {
      %a = memref.load %x[%i, %j] : memref<16x16xf32>
      %n = arith.maximumf %m, %a : f32
      scf.yield %n : f32
    }
    scf.for %j = %c0 to %c16 step %c1 {
      %a = memref.load %x[%i, %j] : memref<16x16xf32>
      %b = arith.negf %a : f32
      %c = arith.subf %a, %max : f32
      memref.store %b, %y[%i, %j] : memref<16x16xf32>
      memref.store %c, %z[%i, %j] : memref<16x16xf32>
      memref.store %a, %w[%j, %i] : memref<16x16xf32>
    // CHECK: } {llvm.loop_annotation = #{{.*}}}
    }
  }
  return
}
