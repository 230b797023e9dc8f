// RUN: mlirdev opt --pass-pipeline=collapse-dims %s | filecheck %s

// An elementwise op needs one loop. A bias along the second dim parts that dim from its neighbours.

#id = affine_map<(i, j, k) -> (i, j, k)>
// CHECK: #[[ONE:.*]] = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @kernel
func.func @kernel(%e: memref<4xi64>, %x: memref<2x3x4xf32>, %y: memref<2x3x4xf32>, %b: memref<3xf32>, %z: memref<2x3x4xf32>) {
  // CHECK: memref.collapse_shape %{{.*}} {{\[\[}}0, 1, 2]] : memref<2x3x4xf32> into memref<24xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[ONE]], #[[ONE]]], iterator_types = ["parallel"]}
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<2x3x4xf32>) outs(%y : memref<2x3x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel"]}
  linalg.generic {indexing_maps = [#id, affine_map<(i, j, k) -> (j)>, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : memref<2x3x4xf32>, memref<3xf32>) outs(%z : memref<2x3x4xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  }
  return
}
