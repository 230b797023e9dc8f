// RUN: mlirdev opt --pass-pipeline=schedule-contractions --target=matrix_tiles.yaml %s | filecheck %s

// Narrow operands are packed into tiles, and multiplied by tile instructions into scratch that the epilogue reads: C as
// a whole is gone.

#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: memref<64x128xf32>
func.func @kernel(%e: memref<4xi64>, %t: i64, %w: memref<?xi8>, %x: memref<64x96xbf16>, %y: memref<96x128xbf16>, %r: memref<64x128xbf16>) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<64x128xf32>
  linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #id], iterator_types = ["parallel", "parallel"]} ins(%zero : f32) outs(%p : memref<64x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  // CHECK: scf.for
  // CHECK: vector.shuffle {{.*}} : vector<16xbf16>, vector<16xbf16>
  // CHECK: llvm.call_intrinsic "llvm.x86.tilezero.internal"
  // CHECK: scf.for {{.*}} -> (!llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx)
  // CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"
  // CHECK: llvm.call_intrinsic "llvm.x86.tilestored64.internal"
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<64x96xbf16>, memref<96x128xbf16>) outs(%p : memref<64x128xf32>) {
  ^bb0(%a: bf16, %c: bf16, %o: f32):
    %u = arith.extf %a : bf16 to f32
    %v = arith.extf %c : bf16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  // CHECK: arith.truncf
  // CHECK: memref.store
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : memref<64x128xf32>) outs(%r : memref<64x128xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %s = arith.truncf %a : f32 to bf16
    linalg.yield %s : bf16
  }
  return
}
