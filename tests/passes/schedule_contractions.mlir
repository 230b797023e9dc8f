// RUN: mlirdev opt --pass-pipeline=schedule-contractions %s | filecheck %s

// A matrix product packs B, keeps a tile of C in registers, and runs the addition that follows on each panel; the
// zeros that C starts from are gone, and C lives in the result.

#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func.func @kernel
func.func @kernel(%e: memref<4xi64>, %t: index, %n: index, %w: memref<?xi8>, %x: memref<64x96xf32>, %y: memref<96x128xf32>, %b: memref<128xf32>, %r: memref<64x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<64x128xf32>
  // CHECK-NOT: linalg.generic
  linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #id], iterator_types = ["parallel", "parallel"]} ins(%zero : f32) outs(%p : memref<64x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  // CHECK: %[[BP:.*]] = memref.alloc() : memref<{{[0-9]+}}xf32>
  // CHECK: vector.store {{.*}}, %[[BP]]
  // CHECK: scf.for {{.*}} iter_args
  // CHECK: vector.load %[[BP]]
  // CHECK: vector.fma
  // CHECK: vector.store
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<64x96xf32>, memref<96x128xf32>) outs(%p : memref<64x128xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %m = arith.mulf %a, %c : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  // CHECK: arith.addf
  // CHECK: memref.store
  linalg.generic {indexing_maps = [#id, affine_map<(m, n) -> (n)>, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %b : memref<64x128xf32>, memref<128xf32>) outs(%r : memref<64x128xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  }
  return
}
