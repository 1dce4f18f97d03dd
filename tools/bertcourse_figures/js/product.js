// The product of matrices that bert.js spends its time in: plain, and in WebAssembly, several times as fast.

// What product.wat assembles to, in base64. Written by tools/site/make_scripts.py from the text of
// SHA-256 3d9fcdb63282c8d7b83862a9fa25962fc0c85aa2db55453466fd813cd83fd70e
const KERNEL = `
  AGFzbQEAAAABEQJgA397fwBgB39/f39/f38AAg4BAmpzBm1lbW9yeQIAAQMDAgABBwsBB3Byb2R1Y3QAAQqJBQIkACAAIAIqAgAgAf0fACAB/R8BkiAB/R
  8CIAH9HwOSkpI4AgAL4QQCDH8LeyAFQQJ0IQcgBkECdCEIA0AgACENIAMgCkECdGohDEEAIQkDQCABIREgASAHaiESIA0gB2ohDiAOIAdqIQ8gDyAHaiEQ
  /QwAAAAAAAAAAAAAAAAAAAAAIRb9DAAAAAAAAAAAAAAAAAAAAAAhF/0MAAAAAAAAAAAAAAAAAAAAACEY/QwAAAAAAAAAAAAAAAAAAAAAIRn9DAAAAAAAAA
  AAAAAAAAAAAAAhGv0MAAAAAAAAAAAAAAAAAAAAACEb/QwAAAAAAAAAAAAAAAAAAAAAIRz9DAAAAAAAAAAAAAAAAAAAAAAhHSAFIQsDQCAR/QAEACEUIBL9
  AAQAIRUgDf0ABAAhEyAWIBMgFP3mAf3kASEWIBogEyAV/eYB/eQBIRogDv0ABAAhEyAXIBMgFP3mAf3kASEXIBsgEyAV/eYB/eQBIRsgD/0ABAAhEyAYIB
  MgFP3mAf3kASEYIBwgEyAV/eYB/eQBIRwgEP0ABAAhEyAZIBMgFP3mAf3kASEZIB0gEyAV/eYB/eQBIR0gEUEQaiERIBJBEGohEiANQRBqIQ0gDkEQaiEO
  IA9BEGohDyAQQRBqIRAgC0EEayILDQALIAwgFiACEAAgDEEEaiAaIAJBBGoQACAMIAhqIQwgDCAXIAIQACAMQQRqIBsgAkEEahAAIAwgCGohDCAMIBggAh
  AAIAxBBGogHCACQQRqEAAgDCAIaiEMIAwgGSACEAAgDEEEaiAdIAJBBGoQACAMIAhqIQwgECENIAlBBGoiCSAESA0ACyASIQEgAkEIaiECIApBAmoiCiAG
  SA0ACws=
`;

/** x Wᵀ + b for x (L, I), W (O, I), as PyTorch keeps it, and b (O): (L, O), row after row. */
function plainProduct(x, W, b) {
  const O = b.length;
  const I = W.length / O;
  const L = x.length / I;
  const y = new Float32Array(L * O);
  for (let l = 0; l < L; l++) {
    for (let o = 0; o < O; o++) {
      let sum = b[o];
      for (let i = 0; i < I; i++) sum += x[l * I + i] * W[o * I + i];
      y[l * O + o] = sum;
    }
  }
  return y;
}

const multipleOf4 = (size) => Math.ceil(size / 4) * 4;

/**
 * Move tensors to where WebAssembly sees them, and return its product, which equals `plainProduct` for all W and b
 * among them. Where there is no WebAssembly with SIMD, the tensors stay where they are, and plainProduct is returned.
 *
 * @param tensors name to { data }, a Float32Array, which is replaced by a view of the same numbers
 * @param longest the most rows that x will have
 * @param widest the most numbers that a row of x or y will have, except that one of them may be `vocabulary` wide
 */
function fastProduct(tensors, { longest, widest, vocabulary }) {
  const room = Object.values(tensors).reduce((sum, { data }) => sum + multipleOf4(data.length), 0);
  const scratch = multipleOf4(longest) * 2 * widest + 4 * vocabulary;
  let memory, kernel;
  try {
    const code = Uint8Array.from(atob(KERNEL), (character) => character.charCodeAt(0));
    memory = new WebAssembly.Memory({ initial: Math.ceil((room + scratch) * 4 / 65536) });
    kernel = new WebAssembly.Instance(new WebAssembly.Module(code), { js: { memory } }).exports.product;
  } catch {
    return plainProduct;
  }
  const numbers = new Float32Array(memory.buffer);
  let end = 0;
  for (const tensor of Object.values(tensors)) {
    numbers.set(tensor.data, end);
    tensor.data = numbers.subarray(end, end + tensor.data.length);
    end += multipleOf4(tensor.data.length);
  }
  return (x, W, b) => {
    const O = b.length;
    const I = W.length / O;
    const L = x.length / I;
    if (I % 4 || O % 2) return plainProduct(x, W, b); // the kernel takes four numbers by two
    const y = end + multipleOf4(L) * I; // up to three rows after x have numbers of before, and lead to nothing
    numbers.set(x, end);
    kernel(4 * end, W.byteOffset, b.byteOffset, 4 * y, multipleOf4(L), I, O);
    return numbers.slice(y, y + L * O);
  };
}
