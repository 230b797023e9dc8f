// RUN: mlirdev opt --pass-pipeline=schedule-contractions %s | filecheck %s

// Few rows by a weight whose rows lie along k: a tile of dot products, without packing.

// CHECK-LABEL: func.func @kernel
func.func @kernel(%e: memref<4xi64>, %t: index, %n: index, %w: memref<?xi8>, %x: memref<4x96xf32>, %y: memref<128x96xf32>, %r: memref<4x128xf32>) {
  // CHECK-NOT: memref.alloc
  // CHECK-NOT: linalg.generic
  // CHECK: scf.for {{.*}} iter_args
  // CHECK: vector.load
  // CHECK: vector.fma
  // CHECK: vector.reduction <add>
  // CHECK: memref.store
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<4x96xf32>, memref<128x96xf32>) outs(%r : memref<4x128xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %m = arith.mulf %a, %c : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}
