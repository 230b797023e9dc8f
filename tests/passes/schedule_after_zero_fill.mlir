// RUN: mlirdev opt --pass-pipeline=schedule-contractions %s | filecheck %s

// The zeros are found where C is a reshaped view; a fill of a part of the buffer isn't taken for one.

#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func.func @kernel
func.func @kernel(%e: memref<4xi64>, %t: i64, %w: memref<?xi8>, %x: memref<64x96xf32>, %y: memref<96x128xf32>, %z: memref<128x96xf32>, %r: memref<2x32x128xf32>, %q: memref<128x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %v = memref.collapse_shape %r [[0, 1], [2]] : memref<2x32x128xf32> into memref<64x128xf32>
  %u = memref.collapse_shape %r [[0, 1], [2]] : memref<2x32x128xf32> into memref<64x128xf32>
  // CHECK-NOT: linalg.generic
  // CHECK: vector.fma
  linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #id], iterator_types = ["parallel", "parallel"]} ins(%zero : f32) outs(%v : memref<64x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<64x96xf32>, memref<96x128xf32>) outs(%u : memref<64x128xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %m = arith.mulf %a, %c : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  %h = memref.subview %q[0, 0] [64, 128] [1, 1] : memref<128x128xf32> to memref<64x128xf32, strided<[128, 1]>>
  // CHECK: linalg.generic
  // CHECK: vector.load %{{.*}} : memref<{{.*}}>, vector
  linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #id], iterator_types = ["parallel", "parallel"]} ins(%zero : f32) outs(%h : memref<64x128xf32, strided<[128, 1]>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%z, %y : memref<128x96xf32>, memref<96x128xf32>) outs(%q : memref<128x128xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %m = arith.mulf %a, %c : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}
