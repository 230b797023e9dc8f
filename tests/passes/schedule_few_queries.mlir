// RUN: mlirdev opt --pass-pipeline='builtin.module(schedule-attention,canonicalize,cse)' %s | filecheck %s

// One query: keys are multiplied where they are, eight at a time, and so are values; nothing is packed.

// CHECK-LABEL: func.func @kernel
// CHECK-NOT: vector.shuffle
// CHECK: scf.for
// CHECK-COUNT-8: vector.fma
// CHECK-COUNT-8: vector.reduction <add>
// CHECK: math.exp
// CHECK: vector.load {{.*}} : memref<131072xf32, strided<[1]>>
// CHECK: vector.fma
// CHECK: } {mlirdev.parallel}
func.func @kernel(%q: memref<2x4x1x32xf32>, %k: memref<2x4x512x32xf32>, %out: memref<2x4x1x32xf32>, %lse: memref<2x4x1xf32>) {
  "mlirdev.attention"(%q, %k, %k, %out, %lse) {
    causal = false, zero_rows = false, scale = 0.5 : f64, resultSegmentSizes = array<i32: 0, 0>,
    indexing_maps = [
      affine_map<(b, h, m, n, d, e) -> (b, h, m, d)>, affine_map<(b, h, m, n, d, e) -> (b, h, n, d)>,
      affine_map<(b, h, m, n, d, e) -> (b, h, n, e)>, affine_map<(b, h, m, n, d, e) -> (b, h, m, e)>,
      affine_map<(b, h, m, n, d, e) -> (b, h, m)>]
  } : (memref<2x4x1x32xf32>, memref<2x4x512x32xf32>, memref<2x4x512x32xf32>, memref<2x4x1x32xf32>, memref<2x4x1xf32>)
    -> ()
  return
}
