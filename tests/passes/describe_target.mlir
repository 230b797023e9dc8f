// RUN: mlirdev opt --target=chip.yaml --pass-pipeline='describe-target,transform(schedules/describe_target_query.mlir)' %s | filecheck %s

// A transform file can choose by what the target says.

// CHECK: module attributes {dlti.target_system_spec = #dlti.target_system_spec<"target" = #dlti.target_device_spec<
// CHECK-SAME: "llvm" = #dlti.map<"triple" = "x86_64-unknown-linux-gnu"
// CHECK-SAME: "clock_mhz" = 1.000000e+03
// CHECK-SAME: "matrix" = #dlti.map<{{.*}}"tile" = [16, 16, 8]
// CHECK-SAME: "spad" = #dlti.map<"size" = 65536
func.func @kernel(%x: memref<4xf32>) {
  // CHECK: return {spad_bytes = 65536 : i64}
  return
}
