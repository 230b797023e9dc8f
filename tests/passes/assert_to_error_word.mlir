// RUN: mlirdev opt --pass-pipeline=assert-to-error-word %s | filecheck %s

// The index is checked where it is loaded, outside the loop over columns, and clamped; its own assertion isn't needed
// any more, the other one becomes a note.

// CHECK-LABEL: func.func @kernel
// CHECK-SAME: %[[ERROR:.*]]: memref<4xi64>
func.func @kernel(%error: memref<4xi64>, %table: memref<10x8xf32>, %indices: memref<3xi64>, %out: memref<3x8xf32>, %ok: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c10 = arith.constant 10 : index
  // CHECK: scf.for
  scf.for %i = %c0 to %c3 step %c1 {
    // CHECK: %[[INDEX:.*]] = arith.index_cast
    // CHECK: arith.cmpi ult, %[[INDEX]], %[[SIZE:.*]] : index
    // CHECK: scf.if
    // CHECK: memref.store %{{.*}}, %[[ERROR]][%{{.*}}] : memref<4xi64>
    // CHECK: arith.maxsi %[[INDEX]]
    // CHECK: %[[SAFE:.*]] = arith.minsi
    // CHECK: scf.for
    scf.for %j = %c0 to %c8 step %c1 {
      %v = memref.load %indices[%i] : memref<3xi64>
      %k = arith.index_cast %v : i64 to index
      %less = arith.cmpi slt, %k, %c10 : index
      cf.assert %less, "index must be smaller than dim size"
      // CHECK-NOT: cf.assert
      // CHECK: memref.load %{{.*}}[%[[SAFE]], %{{.*}}] : memref<10x8xf32>
      %x = memref.load %table[%k, %j] : memref<10x8xf32>
      memref.store %x, %out[%i, %j] : memref<3x8xf32>
    }
  }
  // CHECK: scf.if
  // CHECK: memref.store %{{.*}}, %[[ERROR]]
  cf.assert %ok, "sizes must agree" loc("n5")
  return
}
