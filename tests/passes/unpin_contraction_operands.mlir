// RUN: mlirdev opt --pass-pipeline=unpin-contraction-operands %s | filecheck %s

// The pins go, and nothing else.

// CHECK: func.func private @helper
// CHECK-NOT: __pin
// CHECK: call @helper
// CHECK-NOT: __pin
func.func private @helper(tensor<4xf32>)
func.func private @__pin0(tensor<4xf32>)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  call @helper(%x) : (tensor<4xf32>) -> ()
  call @__pin0(%x) : (tensor<4xf32>) -> ()
  return %x : tensor<4xf32>
}
