// RUN: mlirdev opt --pass-pipeline=widen-accumulators %s | filecheck %s

// A bf16 sum runs in f32 and is rounded once.

// CHECK-LABEL: func.func @kernel
func.func @kernel(%x: tensor<4x3xbf16>, %f: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK: arith.extf {{.*}} : bf16 to f32
  // CHECK: linalg.generic
  // CHECK-SAME: outs({{.*}} : tensor<4xf32>)
  // CHECK: %[[A:.*]] = arith.extf {{.*}} : bf16 to f32
  // CHECK: arith.addf {{.*}} : f32
  // CHECK: arith.truncf {{.*}} : f32 to bf16
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x3xbf16>) outs(%f : tensor<4xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %r = arith.addf %o, %a : bf16
    linalg.yield %r : bf16
  } -> tensor<4xbf16>
  return %s : tensor<4xbf16>
}
