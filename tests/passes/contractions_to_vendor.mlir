// RUN: mlirdev opt --pass-pipeline='builtin.module(contractions-to-vendor{vendor=libtorch})' %s | filecheck %s

// A product becomes a call and needs no zeros before; one whose elements no kernel of the vendor has stays.

#c = affine_map<(m, n, k) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func.func @kernel
func.func @kernel(%e: memref<4xi64>, %t: index, %n: index, %w: memref<?xi8>, %x: memref<64x96xf32>, %y: memref<128x96xf32>, %p: memref<64x128xf32>, %h: memref<64x96xf16>, %i: memref<96x128xf16>, %q: memref<64x128xf16>) {
  %zero = arith.constant 0.0 : f32
  // CHECK-NOT: linalg.generic
  linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #id], iterator_types = ["parallel", "parallel"]} ins(%zero : f32) outs(%p : memref<64x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  // CHECK: call @vendor_call_[[N:[0-9]+]]({{.*}}) : (memref<64x96xf32>, memref<128x96xf32>, memref<64x128xf32>
  linalg.generic {indexing_maps = [#a, affine_map<(m, n, k) -> (n, k)>, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<64x96xf32>, memref<128x96xf32>) outs(%p : memref<64x128xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %m = arith.mulf %a, %c : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  // CHECK: linalg.generic
  linalg.generic {indexing_maps = [#a, affine_map<(m, n, k) -> (k, n)>, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%h, %i : memref<64x96xf16>, memref<96x128xf16>) outs(%q : memref<64x128xf16>) {
  ^bb0(%a: f16, %c: f16, %o: f16):
    %m = arith.mulf %a, %c : f16
    %s = arith.addf %o, %m : f16
    linalg.yield %s : f16
  }
  return
}
// CHECK: func.func private @"vendor!libtorch!sgemm_"(!llvm.ptr
// CHECK: func.func private @vendor_call_[[N]]
// B lies transposed: T is 84.
// CHECK: llvm.mlir.constant(84 : i8)
// CHECK: call @"vendor!libtorch!sgemm_"
