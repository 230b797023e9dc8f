module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op) {
    %r = transform.structured.match ops{["func.return"]} in %m : (!transform.any_op) -> !transform.any_op
    %p = transform.dlti.query ["target", "memory", "spad", "space"] at %r : (!transform.any_op) -> !transform.any_param
    %t = transform.dlti.query ["target", "memory", "spad", "size"] at %r : (!transform.any_op) -> !transform.any_param
    transform.annotate %r "spad_bytes" = %t : !transform.any_op, !transform.any_param
    transform.yield
  }
}
