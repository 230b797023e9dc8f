// RUN: mlirdev opt --pass-pipeline=destination-passing %s | filecheck %s

// Params and results become buffers after the three that every kernel has; a final reshape is undone on the destination.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[ERROR:.*]]: memref<4xi64>, %[[THREAD:.*]]: index, %[[THREADS:.*]]: index, %[[WORKSPACE:.*]]: memref<?xi8>, %[[X:.*]]: memref<4x3xf32>, %[[S:.*]]: f64, %[[R:.*]]: memref<12xf32>) {
func.func @kernel(%x: tensor<4x3xf32>, %s: f64) -> tensor<12xf32> {
  // CHECK: %[[T:.*]] = bufferization.to_tensor %[[X]] restrict : memref<4x3xf32> to tensor<4x3xf32>
  // CHECK: %[[Y:.*]] = linalg.exp ins(%[[T]]
  %e = tensor.empty() : tensor<4x3xf32>
  %y = linalg.exp ins(%x : tensor<4x3xf32>) outs(%e : tensor<4x3xf32>) -> tensor<4x3xf32>
  %r = tensor.collapse_shape %y [[0, 1]] : tensor<4x3xf32> into tensor<12xf32>
  // CHECK: %[[D:.*]] = memref.expand_shape %[[R]]
  // CHECK: bufferization.materialize_in_destination %[[Y]] in restrict writable %[[D]]
  // CHECK: return
  return %r : tensor<12xf32>
}
