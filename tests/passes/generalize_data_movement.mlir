// RUN: mlirdev opt --pass-pipeline='transform(generalize_data_movement.mlir)' %s | filecheck %s

// A transpose and a broadcast become generics, whose maps fusion can fold into what reads them.

// CHECK: #[[PERMUTED:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-NOT: linalg.transpose
// CHECK-NOT: linalg.broadcast
func.func @main(%x: tensor<3x5xf32>, %b: tensor<5xf32>) -> (tensor<5x3xf32>, tensor<3x5xf32>) {
  %0 = tensor.empty() : tensor<5x3xf32>
  // CHECK: linalg.generic {indexing_maps = [#{{.*}}, #{{.*}}], iterator_types = ["parallel", "parallel"]} ins(%{{.*}} : tensor<3x5xf32>)
  %1 = linalg.transpose ins(%x : tensor<3x5xf32>) outs(%0 : tensor<5x3xf32>) permutation = [1, 0]
  %2 = tensor.empty() : tensor<3x5xf32>
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<5xf32>)
  %3 = linalg.broadcast ins(%b : tensor<5xf32>) outs(%2 : tensor<3x5xf32>) dimensions = [0]
  return %1, %3 : tensor<5x3xf32>, tensor<3x5xf32>
}
