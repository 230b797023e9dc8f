// RUN: mlirdev opt --pass-pipeline='builtin.module(fold-transposes-into-attention,func.func(canonicalize))' %s | filecheck %s

// The query is read, and the result written, as rows × heads; what reads the result by heads gets it transposed.

// CHECK: #[[READ:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d0, d3)>
// CHECK: #[[WRITTEN:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d0, d4)>
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<?x2x4xf32>
// CHECK: %[[OUT:.*]] = tensor.empty(%{{.*}}) : tensor<?x2x4xf32>
// CHECK: %[[NEW:.*]]:2 = "mlirdev.attention"(%[[X]], %{{.*}}, %{{.*}}, %[[OUT]], %{{[^)]*}})
// CHECK-SAME: indexing_maps = [#[[READ]], {{.*}}, #[[WRITTEN]], #{{.*}}]
// CHECK: %[[BACK:.*]] = linalg.transpose ins(%[[NEW]]#0 : tensor<?x2x4xf32>)
// CHECK: return %[[NEW]]#0, %[[BACK]]
func.func @main(%x: tensor<?x2x4xf32>, %k: tensor<2x8x4xf32>, %n: index)
    -> (tensor<?x2x4xf32>, tensor<2x?x4xf32>) {
  %heads = tensor.empty(%n) : tensor<2x?x4xf32>
  %rows = tensor.empty(%n) : tensor<?x2x4xf32>
  %lse = tensor.empty(%n) : tensor<2x?xf32>
  %q = linalg.transpose ins(%x : tensor<?x2x4xf32>) outs(%heads : tensor<2x?x4xf32>) permutation = [1, 0, 2]
  %0:2 = "mlirdev.attention"(%q, %k, %k, %heads, %lse) {
    causal = true, zero_rows = true, scale = 0.5 : f64, resultSegmentSizes = array<i32: 1, 1>,
    indexing_maps = [
      affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>,
      affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (b, m, e)>,
      affine_map<(b, m, n, d, e) -> (b, m)>]
  } : (tensor<2x?x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x?x4xf32>, tensor<2x?xf32>)
    -> (tensor<2x?x4xf32>, tensor<2x?xf32>)
  %y = linalg.transpose ins(%0#0 : tensor<2x?x4xf32>) outs(%rows : tensor<?x2x4xf32>) permutation = [1, 0, 2]
  return %y, %0#0 : tensor<?x2x4xf32>, tensor<2x?x4xf32>
}
