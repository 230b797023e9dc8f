// linalg.transpose and linalg.broadcast become generics, so that fusion folds them into the maps of what reads them.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %moves = transform.structured.match ops{["linalg.transpose", "linalg.broadcast"]} in %module
        : (!transform.any_op) -> !transform.any_op
    %generics = transform.structured.generalize %moves : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
