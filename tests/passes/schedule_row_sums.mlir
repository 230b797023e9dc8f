// RUN: mlirdev opt --pass-pipeline=schedule-contractions %s | filecheck %s

// A row's sum of products is a matrix times a vector, but another sum of the same rows stands beside it: it is left to
// the loop over rows that both then share.

#at = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func.func @kernel
func.func @kernel(%e: memref<4xi64>, %t: index, %n: index, %w: memref<?xi8>, %x: memref<64x256xf32>, %v: memref<256xf32>, %s: memref<64xf32>, %p: memref<64xf32>) {
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.mulf
  linalg.generic {indexing_maps = [#at, affine_map<(i, j) -> (j)>, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %v : memref<64x256xf32>, memref<256xf32>) outs(%p : memref<64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %o, %m : f32
    linalg.yield %r : f32
  }
  // CHECK: linalg.generic {{.*}}"reduction"
  linalg.generic {indexing_maps = [#at, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x256xf32>) outs(%s : memref<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  }
  return
}
