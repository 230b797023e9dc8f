// RUN: mlirdev opt --pass-pipeline=keep-expm1 %s | filecheck %s

// CHECK-LABEL: func.func @kernel
// CHECK-DAG: func.func private @expm1f(f32) -> f32
// CHECK-DAG: func.func private @expm1(f64) -> f64
func.func @kernel(%x: f32, %y: f64) -> (f32, f64) {
  // CHECK-NOT: math.expm1
  %0 = math.expm1 %x : f32
  %1 = math.expm1 %y : f64
  return %0, %1 : f32, f64
}
