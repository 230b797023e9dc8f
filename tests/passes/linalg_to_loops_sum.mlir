// RUN: mlirdev opt --pass-pipeline=linalg-to-loops %s | filecheck %s

// A long sum is made in pieces, which are independent, and added up in order from its initial value.

// CHECK-LABEL: func.func @kernel
// CHECK-SAME: %[[X:.*]]: memref<100000xf32>, %[[Y:.*]]: memref<f32>)
func.func @kernel(%x: memref<100000xf32>, %y: memref<f32>) {
  // CHECK: %[[START:.*]] = memref.load %[[Y]][]
  // CHECK: %[[PARTS:.*]] = memref.alloc() : memref<64xf32>
  // CHECK: scf.for %[[P:.*]] = %c0{{.*}} to %c13
  // CHECK: %[[FIRST:.*]] = arith.muli %[[P]], %c8192
  // CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %c8192
  // CHECK: %[[LAST:.*]] = arith.minsi %[[END]], %c100000
  // CHECK: %[[PART:.*]] = scf.for %{{.*}} = %[[FIRST]] to %[[LAST]] {{.*}} iter_args(%{{.*}} = %[[ZERO:.*]])
  // CHECK: memref.store %[[PART]], %[[PARTS]][%[[P]]]
  // CHECK: {mlirdev.parallel}
  // CHECK: %[[SUM:.*]] = scf.for %[[Q:.*]] = %c0{{.*}} to %c13{{.*}} iter_args(%[[SO_FAR:.*]] = %[[START]])
  // CHECK: %[[ONE:.*]] = memref.load %[[PARTS]][%[[Q]]]
  // CHECK: arith.addf %[[SO_FAR]], %[[ONE]]
  // CHECK: memref.store %[[SUM]], %[[Y]][]
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : memref<100000xf32>) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  }
  return
}

// A piece of a sum of columns has a row of its own.

// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[X:.*]]: memref<4096x512xf32>, %[[Y:.*]]: memref<512xf32>)
func.func @columns(%x: memref<4096x512xf32>, %y: memref<512xf32>) {
  // CHECK: %[[PARTS:.*]] = memref.alloc() : memref<64x512xf32>
  // CHECK: scf.for %[[P:.*]] = %c0{{.*}} to %c64
  // CHECK: scf.for %[[J:.*]] = %c0{{.*}} to %c512
  // CHECK: memref.store %{{.*}}, %[[PARTS]][%[[P]], %[[J]]]
  // CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}}
  // CHECK: scf.for %[[J:.*]] = %c0{{.*}} to %c512
  // CHECK: memref.load %[[X]][%[[I]], %[[J]]]
  // CHECK: memref.load %[[PARTS]][%[[P]], %[[J]]]
  // CHECK: memref.store %{{.*}}, %[[PARTS]][%[[P]], %[[J]]]
  // CHECK: {mlirdev.parallel}
  // CHECK: scf.for %[[P:.*]] = %c0{{.*}} to %c64
  // CHECK: scf.for %[[J:.*]] = %c0{{.*}} to %c512
  // CHECK: memref.load %[[Y]][%[[J]]]
  // CHECK: memref.load %[[PARTS]][%[[P]], %[[J]]]
  // CHECK: memref.store %{{.*}}, %[[Y]][%[[J]]]
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<4096x512xf32>) outs(%y : memref<512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  }
  return
}
