// RUN: mlirdev opt --pass-pipeline=separate-returned-values %s | filecheck %s

// The returned fill and slice get ops of their own; what is only returned stays as it is.

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<16xf32>, tensor<2x4xf32>, tensor<3xf32>) {
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[ONLY:.*]] = arith.constant dense
  %only = arith.constant dense<1.0> : tensor<3xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  // CHECK: %[[START:.*]] = linalg.fill
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %flat = tensor.collapse_shape %f [[0, 1]] : tensor<4x4xf32> into tensor<16xf32>
  // CHECK: %[[ROWS:.*]] = tensor.extract_slice
  %s = tensor.extract_slice %x[0, 0] [2, 4] [1, 1] : tensor<4x4xf32> to tensor<2x4xf32>
  %e2 = tensor.empty() : tensor<2x4xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: linalg.matmul ins({{.*}}) outs(%[[START]]
  %m = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: linalg.matmul ins(%[[ROWS]]
  %m2 = linalg.matmul ins(%s, %m : tensor<2x4xf32>, tensor<4x4xf32>) outs(%f2 : tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: %[[OWN:.*]] = linalg.fill
  // CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[OWN]]
  // CHECK: return %{{.*}}, %[[FLAT]], %{{.*}}, %[[ONLY]]
  return %m, %flat, %m2, %only : tensor<4x4xf32>, tensor<16xf32>, tensor<2x4xf32>, tensor<3xf32>
}
