// RUN: mlirdev opt --pass-pipeline=pin-contraction-operands %s | filecheck %s

// A matrix times a computed vector, each of whose elements goes into every result; a row's sum reads its number for one.

#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#vector = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<8xf32>, %r: tensor<4xf32>, %w: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e8 = tensor.empty() : tensor<8xf32>
  %e4 = tensor.empty() : tensor<4xf32>
  // CHECK: %[[VECTOR:.*]] = linalg.generic
  %v = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e8 : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.tanh %a : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  %n = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%r : tensor<4xf32>) outs(%e4 : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.exp %a : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#all, #column, #row], iterator_types = ["parallel", "reduction"]} ins(%w, %v : tensor<4x8xf32>, tensor<8xf32>) outs(%e4 : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %z = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%w, %n : tensor<4x8xf32>, tensor<4xf32>) outs(%e4 : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.subf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  // CHECK: call @__pin0(%[[VECTOR]])
  // CHECK-NOT: call
  // CHECK: return
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}
