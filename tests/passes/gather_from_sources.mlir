// RUN: mlirdev opt --pass-pipeline='gather-from-sources,func.func(canonicalize,cse)' %s | filecheck %s

// The picked element of x - log(s) is computed from the picked elements; nothing of the whole is.
// CHECK-LABEL: func.func @kernel
func.func @kernel(%x: tensor<8x16xf32>, %s: tensor<8xf32>, %t: tensor<8xindex>, %e: tensor<8x16xf32>, %f: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NOT: tensor<8x16xf32>)
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%{{.*}} : tensor<8xindex>)
  // CHECK: %[[ROW:.*]] = linalg.index 0
  // CHECK-DAG: %[[X:.*]] = tensor.extract %{{.*}}[%[[ROW]], %in] : tensor<8x16xf32>
  // CHECK-DAG: %[[S:.*]] = tensor.extract %{{.*}}[%[[ROW]]] : tensor<8xf32>
  // CHECK: %[[LOG:.*]] = math.log %[[S]]
  // CHECK: %[[Y:.*]] = arith.subf %[[X]], %[[LOG]]
  // CHECK: linalg.yield %[[Y]]
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<8x16xf32>, tensor<8xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %l = math.log %b : f32
    %r = arith.subf %a, %l : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%t : tensor<8xindex>) outs(%f : tensor<8xf32>) {
  ^bb0(%j: index, %o: f32):
    %i = linalg.index 0 : index
    %r = tensor.extract %y[%i, %j] : tensor<8x16xf32>
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %p : tensor<8xf32>
}
