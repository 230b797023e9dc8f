// RUN: mlirdev opt --pass-pipeline=bufferize-tm-tensor %s | filecheck %s

// A scan runs on buffers of its own, which come back as tensors that one-shot-bufferize may write.

// CHECK-LABEL: func.func @kernel
func.func @kernel(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %zero = tensor.empty() : tensor<f32>
  // CHECK: bufferization.to_tensor {{.*}} restrict writable
  // CHECK: tm_tensor.scan {{.*}} ins({{.*}} : memref<8xf32>)
  %0:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<8xf32>) outs(%e, %zero : tensor<8xf32>, tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tm_tensor.yield %s : f32
  } -> tensor<8xf32>, tensor<f32>
  return %0#0 : tensor<8xf32>
}
