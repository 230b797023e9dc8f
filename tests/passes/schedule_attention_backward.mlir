// RUN: mlirdev opt --pass-pipeline='builtin.module(schedule-attention,canonicalize,cse)' %s | filecheck %s

// Weights are worked out anew for a few rows of queries at a time; gradients of keys and values are summed beside.

// CHECK-LABEL: func.func @kernel
// CHECK-NOT: mlirdev.attention
// CHECK: scf.for
// CHECK: vector.reduction <add>
// CHECK: math.exp
// CHECK: arith.subf
// CHECK: vector.store {{.*}} : memref<16384xf32, strided<[1]>>
// CHECK: vector.fma
// CHECK: } {mlirdev.parallel}
func.func @kernel(%x: memref<2x4x64x32xf32>, %lse: memref<2x4x64xf32>, %dq: memref<2x4x64x32xf32>, %dk: memref<2x4x64x32xf32>, %dv: memref<2x4x64x32xf32>) {
  "mlirdev.attention_backward"(%x, %x, %x, %x, %x, %lse, %dq, %dk, %dv) {
    causal = true, scale = 0.5 : f64, resultSegmentSizes = array<i32: 0, 0, 0>,
    indexing_maps = [
      affine_map<(b, h, m, n, d, e) -> (b, h, m, e)>, affine_map<(b, h, m, n, d, e) -> (b, h, m, d)>, affine_map<(b, h, m, n, d, e) -> (b, h, n, d)>,
      affine_map<(b, h, m, n, d, e) -> (b, h, n, e)>, affine_map<(b, h, m, n, d, e) -> (b, h, m, e)>,
      affine_map<(b, h, m, n, d, e) -> (b, h, m)>, affine_map<(b, h, m, n, d, e) -> (b, h, m, d)>,
      affine_map<(b, h, m, n, d, e) -> (b, h, n, d)>, affine_map<(b, h, m, n, d, e) -> (b, h, n, e)>]
  } : (memref<2x4x64x32xf32>, memref<2x4x64x32xf32>, memref<2x4x64x32xf32>, memref<2x4x64x32xf32>,
       memref<2x4x64x32xf32>, memref<2x4x64xf32>, memref<2x4x64x32xf32>, memref<2x4x64x32xf32>, memref<2x4x64x32xf32>)
    -> ()
  return
}
