;; The product of matrices that bert.js spends its time in: y = x Wᵀ + b, four numbers at a time (SIMD).
;;
;; x is (rows, I), W is (O, I) as PyTorch keeps it, b is (O), y is (rows, O); rows is a multiple of 4, I too, O of 2.
;; Four rows of x meet two rows of W at a time, so that six loads serve eight products. product.js has the bytes that
;; this text assembles to; after a change: python tools/site/make_scripts.py kernel
(module
  (memory (import "js" "memory") 1)

  ;; Store the four numbers of a vector, added up, and the number at $bias.
  (func $store (param $address i32) (param $sum v128) (param $bias i32)
    (f32.store (local.get $address)
      (f32.add (f32.load (local.get $bias))
        (f32.add
          (f32.add (f32x4.extract_lane 0 (local.get $sum)) (f32x4.extract_lane 1 (local.get $sum)))
          (f32.add (f32x4.extract_lane 2 (local.get $sum)) (f32x4.extract_lane 3 (local.get $sum)))))))

  ;; x, W, b and y are addresses in bytes.
  (func (export "product")
    (param $x i32) (param $W i32) (param $b i32) (param $y i32) (param $rows i32) (param $I i32) (param $O i32)
    (local $width i32) (local $height i32)                                     ;; of a row of x and of y, in bytes
    (local $row i32) (local $column i32) (local $i i32) (local $cell i32)
    (local $x0 i32) (local $x1 i32) (local $x2 i32) (local $x3 i32)            ;; where the four rows of x stand
    (local $w0 i32) (local $w1 i32)                                            ;; where the two rows of W stand
    (local $a v128) (local $u v128) (local $v v128)
    (local $u0 v128) (local $u1 v128) (local $u2 v128) (local $u3 v128)        ;; sums of the first row of W
    (local $v0 v128) (local $v1 v128) (local $v2 v128) (local $v3 v128)        ;; sums of the second
    (local.set $width (i32.shl (local.get $I) (i32.const 2)))
    (local.set $height (i32.shl (local.get $O) (i32.const 2)))

    (loop $columns
      (local.set $x0 (local.get $x))
      (local.set $cell (i32.add (local.get $y) (i32.shl (local.get $column) (i32.const 2))))
      (local.set $row (i32.const 0))

      (loop $fours
        (local.set $w0 (local.get $W))
        (local.set $w1 (i32.add (local.get $W) (local.get $width)))
        (local.set $x1 (i32.add (local.get $x0) (local.get $width)))
        (local.set $x2 (i32.add (local.get $x1) (local.get $width)))
        (local.set $x3 (i32.add (local.get $x2) (local.get $width)))
        (local.set $u0 (v128.const f32x4 0 0 0 0))
        (local.set $u1 (v128.const f32x4 0 0 0 0))
        (local.set $u2 (v128.const f32x4 0 0 0 0))
        (local.set $u3 (v128.const f32x4 0 0 0 0))
        (local.set $v0 (v128.const f32x4 0 0 0 0))
        (local.set $v1 (v128.const f32x4 0 0 0 0))
        (local.set $v2 (v128.const f32x4 0 0 0 0))
        (local.set $v3 (v128.const f32x4 0 0 0 0))
        (local.set $i (local.get $I))

        (loop $inner
          (local.set $u (v128.load (local.get $w0)))
          (local.set $v (v128.load (local.get $w1)))
          (local.set $a (v128.load (local.get $x0)))
          (local.set $u0 (f32x4.add (local.get $u0) (f32x4.mul (local.get $a) (local.get $u))))
          (local.set $v0 (f32x4.add (local.get $v0) (f32x4.mul (local.get $a) (local.get $v))))
          (local.set $a (v128.load (local.get $x1)))
          (local.set $u1 (f32x4.add (local.get $u1) (f32x4.mul (local.get $a) (local.get $u))))
          (local.set $v1 (f32x4.add (local.get $v1) (f32x4.mul (local.get $a) (local.get $v))))
          (local.set $a (v128.load (local.get $x2)))
          (local.set $u2 (f32x4.add (local.get $u2) (f32x4.mul (local.get $a) (local.get $u))))
          (local.set $v2 (f32x4.add (local.get $v2) (f32x4.mul (local.get $a) (local.get $v))))
          (local.set $a (v128.load (local.get $x3)))
          (local.set $u3 (f32x4.add (local.get $u3) (f32x4.mul (local.get $a) (local.get $u))))
          (local.set $v3 (f32x4.add (local.get $v3) (f32x4.mul (local.get $a) (local.get $v))))
          (local.set $w0 (i32.add (local.get $w0) (i32.const 16)))
          (local.set $w1 (i32.add (local.get $w1) (i32.const 16)))
          (local.set $x0 (i32.add (local.get $x0) (i32.const 16)))
          (local.set $x1 (i32.add (local.get $x1) (i32.const 16)))
          (local.set $x2 (i32.add (local.get $x2) (i32.const 16)))
          (local.set $x3 (i32.add (local.get $x3) (i32.const 16)))
          (br_if $inner (local.tee $i (i32.sub (local.get $i) (i32.const 4)))))

        ;; Down one column of y and then down the next, $cell is where four rows of y stand.
        (call $store (local.get $cell) (local.get $u0) (local.get $b))
        (call $store (i32.add (local.get $cell) (i32.const 4)) (local.get $v0) (i32.add (local.get $b) (i32.const 4)))
        (local.set $cell (i32.add (local.get $cell) (local.get $height)))
        (call $store (local.get $cell) (local.get $u1) (local.get $b))
        (call $store (i32.add (local.get $cell) (i32.const 4)) (local.get $v1) (i32.add (local.get $b) (i32.const 4)))
        (local.set $cell (i32.add (local.get $cell) (local.get $height)))
        (call $store (local.get $cell) (local.get $u2) (local.get $b))
        (call $store (i32.add (local.get $cell) (i32.const 4)) (local.get $v2) (i32.add (local.get $b) (i32.const 4)))
        (local.set $cell (i32.add (local.get $cell) (local.get $height)))
        (call $store (local.get $cell) (local.get $u3) (local.get $b))
        (call $store (i32.add (local.get $cell) (i32.const 4)) (local.get $v3) (i32.add (local.get $b) (i32.const 4)))
        (local.set $cell (i32.add (local.get $cell) (local.get $height)))

        (local.set $x0 (local.get $x3))                                        ;; which has come to the next four rows
        (br_if $fours (i32.lt_s (local.tee $row (i32.add (local.get $row) (i32.const 4))) (local.get $rows))))

      (local.set $W (local.get $w1))                                           ;; which has come to the next two rows
      (local.set $b (i32.add (local.get $b) (i32.const 8)))
      (br_if $columns (i32.lt_s (local.tee $column (i32.add (local.get $column) (i32.const 2))) (local.get $O))))))
