// RUN: mlirdev opt --pass-pipeline='builtin.module(schedule-attention,canonicalize,cse)' %s | filecheck %s

// One parallel loop over batch and heads; scores of a few rows at a time, up to the rows' own keys; weights in one pass.

// CHECK-LABEL: func.func @kernel
// CHECK-NOT: mlirdev.attention
// CHECK-DAG: %[[HEADS:.*]] = arith.constant 8 : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[HEADS]] step
// CHECK: vector.shuffle
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: arith.minsi
// CHECK: scf.for
// CHECK: vector.fma
// CHECK: arith.select
// CHECK: math.exp
// CHECK: vector.reduction <add>
// CHECK: vector.fma
// CHECK: vector.store
// CHECK: } {mlirdev.parallel}
func.func @kernel(%q: memref<2x4x64x32xf32>, %out: memref<2x4x64x32xf32>, %lse: memref<2x4x64xf32>) {
  "mlirdev.attention"(%q, %q, %q, %out, %lse) {
    causal = true, zero_rows = true, scale = 0.5 : f64, resultSegmentSizes = array<i32: 0, 0>,
    indexing_maps = [
      affine_map<(b, h, m, n, d, e) -> (b, h, m, d)>, affine_map<(b, h, m, n, d, e) -> (b, h, n, d)>,
      affine_map<(b, h, m, n, d, e) -> (b, h, n, e)>, affine_map<(b, h, m, n, d, e) -> (b, h, m, e)>,
      affine_map<(b, h, m, n, d, e) -> (b, h, m)>]
  } : (memref<2x4x64x32xf32>, memref<2x4x64x32xf32>, memref<2x4x64x32xf32>, memref<2x4x64x32xf32>, memref<2x4x64xf32>)
    -> ()
  return
}
