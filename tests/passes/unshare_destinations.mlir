// RUN: mlirdev opt --pass-pipeline=unshare-destinations %s | filecheck %s

// Two sums that start from one fill get a fill and a tensor.empty each.

#id = affine_map<(d0, d1) -> (d0, d1)>
#c = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @kernel
func.func @kernel(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  // CHECK: %[[E1:.*]] = tensor.empty
  // CHECK: %[[F1:.*]] = linalg.fill {{.*}} outs(%[[E1]]
  // CHECK: linalg.generic {{.*}} outs(%[[F1]] : tensor<3xf32>)
  %0 = linalg.generic {indexing_maps = [#id, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x3xf32>) outs(%f : tensor<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  // CHECK: %[[E2:.*]] = tensor.empty
  // CHECK: %[[F2:.*]] = linalg.fill {{.*}} outs(%[[E2]]
  // CHECK: linalg.generic {{.*}} outs(%[[F2]] : tensor<3xf32>)
  %1 = linalg.generic {indexing_maps = [#id, #c], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<4x3xf32>) outs(%f : tensor<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// Loops that carry what they fill, and elements that are written, have starts of their own too.
// CHECK-LABEL: func.func @carried
// CHECK: %[[B:.*]] = linalg.fill
// CHECK: %[[A:.*]] = linalg.fill
// CHECK: scf.for {{.*}} iter_args({{.*}} = %[[A]], {{.*}} = %[[B]])
func.func @carried(%n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %low = arith.constant 0 : index
  %step = arith.constant 1 : index
  %empty = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %both:2 = scf.for %i = %low to %n step %step iter_args(%a = %start, %b = %start) -> (tensor<4xf32>, tensor<4xf32>) {
    %written = tensor.insert %one into %a[%i] : tensor<4xf32>
    %read = tensor.extract %b[%i] : tensor<4xf32>
    %after = tensor.insert %read into %b[%i] : tensor<4xf32>
    scf.yield %written, %after : tensor<4xf32>, tensor<4xf32>
  }
  return %both#0, %both#1 : tensor<4xf32>, tensor<4xf32>
}
