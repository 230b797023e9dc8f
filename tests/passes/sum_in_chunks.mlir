// RUN: mlirdev opt --pass-pipeline='sum-in-chunks,canonicalize' %s | filecheck %s

// CHECK-LABEL: func.func @kernel
func.func @kernel(%e: memref<4xi64>, %x: memref<10000xf32>, %s: memref<f32>, %d: memref<f64>) {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 10000 : index
  // CHECK: %[[ALL:.*]] = scf.for %[[C:.*]] = %c0 to %c10000 step %c1024 iter_args(%[[TOTAL:.*]] = %{{.*}}) -> (f64)
  // CHECK: %[[STOP:.*]] = arith.minsi
  // CHECK: %[[PART:.*]] = scf.for %[[J:.*]] = %[[C]] to %[[STOP]] step %c1 iter_args(%[[SUM:.*]] = %{{.*}}) -> (f32)
  // CHECK: %[[X:.*]] = memref.load %{{.*}}[%[[J]]]
  // CHECK-NOT: extf
  // CHECK: arith.addf %[[X]], %[[SUM]] fastmath<reassoc,contract> : f32
  // CHECK: %[[WIDE:.*]] = arith.extf %[[PART]] : f32 to f64
  // CHECK: arith.addf %[[TOTAL]], %[[WIDE]]
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%a = %zero) -> (f64) {
    %v = memref.load %x[%j] : memref<10000xf32>
    %w = arith.extf %v : f32 to f64
    %b = arith.addf %w, %a fastmath<reassoc,contract> : f64
    scf.yield %b : f64
  }
  // CHECK: arith.truncf %[[ALL]]
  %f = arith.truncf %r : f64 to f32
  memref.store %f, %s[] : memref<f32>
  // This one is wanted in f64.
  // CHECK: scf.for
  // CHECK: arith.extf
  // CHECK-NOT: scf.for
  %q = scf.for %j = %c0 to %n step %c1 iter_args(%a = %zero) -> (f64) {
    %v = memref.load %x[%j] : memref<10000xf32>
    %w = arith.extf %v : f32 to f64
    %b = arith.addf %w, %a fastmath<reassoc,contract> : f64
    scf.yield %b : f64
  }
  memref.store %q, %d[] : memref<f64>
  return
}
