// RUN: mlirdev opt --pass-pipeline=linalg-to-loops %s | filecheck %s

// A row's sum and what is made of it share the loop over rows; the sum is carried by the inner loop and its temporary
// shrinks to one element.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func.func @kernel
func.func @kernel(%e: memref<4xi64>, %x: memref<8x16xf32>, %y: memref<8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<8xf32>
  // CHECK: memref.alloc() : memref<f32>
  // CHECK: scf.for %[[I:.*]] =
  // CHECK: %[[SUM:.*]] = scf.for %[[J:.*]] = {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32)
  // CHECK: arith.addf {{.*}}%[[ACC]] fastmath<reassoc,contract> : f32
  // CHECK: scf.for
  // CHECK: arith.divf %{{.*}}, %[[SUM]] : f32
  // CHECK-NOT: scf.for
  linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%zero : f32) outs(%s : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x16xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<8x16xf32>, memref<8xf32>) outs(%y : memref<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  }
  return
}

// Two images scaled by channel: the loop along the channels would read three vectors side by side, but the images with a
// step, so it isn't the inner one.
#image = affine_map<(n, c, x) -> (n, c, x)>
#channel = affine_map<(n, c, x) -> (c)>
// CHECK-LABEL: func.func @scaled
func.func @scaled(%e: memref<4xi64>, %x: memref<2x8x64xf32>, %a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %y: memref<2x8x64xf32>) {
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: scf.for %[[X:.*]] =
  // CHECK: memref.load %arg1[%{{.*}}, %{{.*}}, %[[X]]]
  linalg.generic {indexing_maps = [#image, #channel, #channel, #channel, #image], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %a, %b, %c : memref<2x8x64xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>) outs(%y : memref<2x8x64xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32, %s: f32, %o: f32):
    %1 = arith.subf %p, %q : f32
    %2 = arith.mulf %1, %r : f32
    %3 = arith.addf %2, %s : f32
    linalg.yield %3 : f32
  }
  return
}

// What adds up the rows' results has a loop of its own, and the loop over rows stays parallel.
// CHECK-LABEL: func.func @total
func.func @total(%e: memref<4xi64>, %x: memref<8x16xf32>, %s: memref<8xf32>, %t: memref<f32>) {
  // CHECK: scf.for
  // CHECK: scf.for {{.*}} iter_args
  // CHECK: } {mlirdev.parallel}
  // CHECK: scf.for {{.*}} iter_args
  // CHECK-NOT: scf.for
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x16xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%s : memref<8xf32>) outs(%t : memref<f32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  }
  return
}
