// RUN: mlirdev opt --pass-pipeline='recompute-cheap-producers,func.func(linalg-fuse-elementwise-ops,canonicalize)' %s | filecheck %s

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// What is left of x - m stands in the sum's body and in the product's; it is never in memory.
// CHECK-LABEL: func.func @kernel
func.func @kernel(%x: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>, %e: tensor<8x16xf32>) -> (tensor<8xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.subf
  // CHECK: arith.addf
  %c = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<8x16xf32>, tensor<8xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.subf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  %v = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%c : tensor<8x16xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  // CHECK: linalg.generic
  // CHECK: arith.subf
  // CHECK: arith.negf
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  // An exponential isn't cheap: it is computed once.
  // CHECK: linalg.generic
  // CHECK: math.exp
  // CHECK-NOT: math.exp
  %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  %w = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<8x16xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %z = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %w : tensor<8x16xf32>, tensor<8xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  return %v, %y, %z : tensor<8xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}
