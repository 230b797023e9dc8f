// RUN: mlirdev opt --pass-pipeline=drop-repeated-checks %s | filecheck %s

// The first check is made again by the op with a result; the second bounds another number and stays.

#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @main
func.func @main(%i: tensor<4xi64>) -> tensor<4xi64> {
  %c8 = arith.constant 8 : i64
  %c9 = arith.constant 9 : i64
  // CHECK-NOT: arith.cmpi slt, %{{.*}}, %c8_i64
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} ins(%i : tensor<4xi64>) {
  ^bb0(%a: i64):
    %ok = arith.cmpi slt, %a, %c8 : i64
    cf.assert %ok, "index must be smaller than dim size"
    linalg.yield
  }
  // CHECK: arith.cmpi slt, %{{.*}}, %c9_i64
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} ins(%i : tensor<4xi64>) {
  ^bb0(%a: i64):
    %ok = arith.cmpi slt, %a, %c9 : i64
    cf.assert %ok, "index must be smaller than dim size"
    linalg.yield
  }
  // CHECK: arith.cmpi slt, %{{.*}}, %c8_i64
  // CHECK: -> tensor<4xi64>
  %e = tensor.empty() : tensor<4xi64>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%i : tensor<4xi64>) outs(%e : tensor<4xi64>) {
  ^bb0(%a: i64, %o: i64):
    %ok = arith.cmpi slt, %a, %c8 : i64
    cf.assert %ok, "index must be smaller than dim size"
    %s = arith.addi %a, %c8 : i64
    linalg.yield %s : i64
  } -> tensor<4xi64>
  return %r : tensor<4xi64>
}
