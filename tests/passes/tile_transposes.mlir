// RUN: mlirdev opt --pass-pipeline=tile-transposes %s | filecheck %s

// Rows of one side are columns of the other: sixteen of each are copied at a time.

// CHECK: #[[IN:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d3, d0, d2)>
// CHECK: #[[OUT:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
// CHECK-LABEL: func.func @kernel
func.func @kernel(%e: memref<4xi64>, %t: index, %n: index, %w: memref<?xi8>, %x: memref<64x48xf32>, %y: memref<48x64xf32>) {
  // CHECK-DAG: memref.expand_shape %{{.*}} {{\[\[}}0, 1], [2, 3]] output_shape [4, 16, 3, 16]
  // CHECK-DAG: memref.expand_shape %{{.*}} {{\[\[}}0, 1], [2, 3]] output_shape [3, 16, 4, 16]
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "parallel"]
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x48xf32>) outs(%y : memref<48x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
