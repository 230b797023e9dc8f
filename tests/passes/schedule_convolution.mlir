// RUN: mlirdev opt --pass-pipeline=schedule-contractions %s | filecheck %s

// A convolution copies the rows that a block of outputs reads, with zeros where there is padding; the padded image that
// the kernel made is gone. A tile of channels and outputs is in registers while channels and taps go by, and what
// follows the convolution runs on those channels.

#id = affine_map<(n, c, h, w) -> (n, c, h, w)>
// CHECK-LABEL: func.func @kernel
func.func @kernel(%e: memref<4xi64>, %t: index, %n: index, %w: memref<?xi8>, %x: memref<8x16x28x28xf32>, %f: memref<32x16x3x3xf32>, %b: memref<32xf32>, %r: memref<8x32x28x28xf32>) {
  // CHECK-NOT: memref<8x16x30x30xf32>
  // CHECK-NOT: linalg.generic
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<8x16x30x30xf32>
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%p : memref<8x16x30x30xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  %s = memref.subview %p[0, 0, 1, 1] [8, 16, 28, 28] [1, 1, 1, 1] : memref<8x16x30x30xf32> to memref<8x16x28x28xf32, strided<[14400, 900, 30, 1], offset: 31>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : memref<8x16x28x28xf32>) outs(%s : memref<8x16x28x28xf32, strided<[14400, 900, 30, 1], offset: 31>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  %y = memref.alloc() : memref<8x32x28x28xf32>
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%y : memref<8x32x28x28xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  // A row's zeros on the right are the next one's on the left: 16 channels of 30 rows of 29 elements, and room behind.
  // CHECK: %[[X:.*]] = memref.alloc() : memref<{{14[0-9]+}}xf32>
  // CHECK: scf.for
  // CHECK: scf.if
  // CHECK: vector.maskedload
  // CHECK: vector.store {{.*}}, %[[X]]
  // CHECK: scf.for {{.*}} iter_args
  // CHECK: vector.load %[[X]]
  // CHECK: vector.fma
  linalg.generic {indexing_maps = [affine_map<(n, c, h, w, i, y, x) -> (n, i, h + y, w + x)>, affine_map<(n, c, h, w, i, y, x) -> (c, i, y, x)>, affine_map<(n, c, h, w, i, y, x) -> (n, c, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<8x16x30x30xf32>, memref<32x16x3x3xf32>) outs(%y : memref<8x32x28x28xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %m = arith.mulf %a, %c : f32
    %q = arith.addf %o, %m : f32
    linalg.yield %q : f32
  }
  // CHECK: arith.addf {{.*}} : vector
  // CHECK: vector.maskedstore
  // CHECK: mlirdev.parallel
  linalg.generic {indexing_maps = [#id, affine_map<(n, c, h, w) -> (c)>, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y, %b : memref<8x32x28x28xf32>, memref<32xf32>) outs(%r : memref<8x32x28x28xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %q = arith.addf %a, %c : f32
    linalg.yield %q : f32
  }
  return
}
