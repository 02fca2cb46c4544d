;; Writes its arguments to standard output, one space between them and a newline at the end, as echo does. WASI preview 1.
;; Without arguments it exits with 2 and says so on standard error.
(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 16)
  (data (i32.const 64) "usage: echo <text>...\n")

  ;; 0: argc, 4: bytes of argv, 8: iovec (address, length), 16: bytes written; 1024: pointers, then the texts, each ended by NUL
  (func $write (param $fd i32) (param $at i32) (param $length i32)
    (i32.store (i32.const 8) (local.get $at))
    (i32.store (i32.const 12) (local.get $length))
    (if (call $fd_write (local.get $fd) (i32.const 8) (i32.const 1) (i32.const 16))
      (then (call $proc_exit (i32.const 1)))))

  (func (export "_start") (local $argc i32) (local $texts i32) (local $at i32) (local $end i32)
    (drop (call $args_sizes_get (i32.const 0) (i32.const 4)))
    (local.set $argc (i32.load (i32.const 0)))
    (if (i32.lt_u (local.get $argc) (i32.const 2))
      (then
        (call $write (i32.const 2) (i32.const 64) (i32.const 22))
        (call $proc_exit (i32.const 2))))
    (local.set $texts (i32.add (i32.const 1024) (i32.mul (local.get $argc) (i32.const 4))))
    (local.set $end (i32.add (local.get $texts) (i32.load (i32.const 4))))
    ;; grows where the arguments need more
    (if (i32.gt_u (local.get $end) (i32.mul (memory.size) (i32.const 65536)))
      (then
        (if (i32.eq (memory.grow (i32.add (i32.div_u (i32.sub (local.get $end) (i32.mul (memory.size) (i32.const 65536))) (i32.const 65536)) (i32.const 1))) (i32.const -1))
          (then (call $proc_exit (i32.const 1))))))
    (drop (call $args_get (i32.const 1024) (local.get $texts)))
    ;; each NUL becomes a space, the last one a newline: then all of it is one write
    (local.set $at (i32.load (i32.const 1028)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (if (i32.eqz (i32.load8_u (local.get $at)))
          (then (i32.store8 (local.get $at) (i32.const 32))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (i32.store8 (i32.sub (local.get $end) (i32.const 1)) (i32.const 10))
    (call $write (i32.const 1) (i32.load (i32.const 1028)) (i32.sub (local.get $end) (i32.load (i32.const 1028))))))
