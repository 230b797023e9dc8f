// RUN: mlirdev opt --pass-pipeline=bufferize-attention %s | filecheck %s

// A result that goes straight into its destination is written there, one that is read has a buffer of its own.

// CHECK-LABEL: func.func @kernel
// CHECK-SAME: (%[[Q:.*]]: tensor<2x8x4xf32>, %[[OUT:.*]]: memref<2x8x4xf32>)
// CHECK: %[[LSE:.*]] = memref.alloc() : memref<2x8xf32>
// CHECK: %[[READ:.*]] = bufferization.to_buffer %[[Q]] read_only
// CHECK: "mlirdev.attention"(%[[READ]], %{{.*}}, %{{.*}}, %[[OUT]], %[[LSE]])
// CHECK-SAME: resultSegmentSizes = array<i32: 0, 0>
// CHECK: bufferization.to_tensor %[[LSE]] restrict writable
// CHECK-NOT: materialize_in_destination
func.func @kernel(%q: tensor<2x8x4xf32>, %destination: memref<2x8x4xf32>) -> tensor<2x8xf32> {
  %out = tensor.empty() : tensor<2x8x4xf32>
  %lse = tensor.empty() : tensor<2x8xf32>
  %0:2 = "mlirdev.attention"(%q, %q, %q, %out, %lse) {
    causal = true, zero_rows = true, scale = 0.5 : f64, resultSegmentSizes = array<i32: 1, 1>,
    indexing_maps = [
      affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>,
      affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (b, m, e)>,
      affine_map<(b, m, n, d, e) -> (b, m)>]
  } : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xf32>)
    -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  bufferization.materialize_in_destination %0#0 in restrict writable %destination
    : (tensor<2x8x4xf32>, memref<2x8x4xf32>) -> ()
  return %0#1 : tensor<2x8xf32>
}
