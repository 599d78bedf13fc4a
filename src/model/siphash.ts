/**
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash of short messages, 64 bits long. Each record of a row gets one, under a key that
 * only that row has. Node's own hashes cost several times as much for so few bytes, most of it for the call.
 */

/** Of 128 bits, in four words, the lowest first. */
export type SipKey = readonly [number, number, number, number]

/** The low word, then the high one. It is used again with each call. */
const hashed = new Int32Array(2)

/** @param length bytes of the message, from the start of `bytes` */
export function sipHash24(key: SipKey, bytes: Uint8Array, length: number): Int32Array {
  const k0 = key[0]
  const k1 = key[1]
  const k2 = key[2]
  const k3 = key[3]
  // The four words of the state, each in a low and a high half.
  let l0 = k0 ^ 0x70736575
  let h0 = k1 ^ 0x736f6d65
  let l1 = k2 ^ 0x6e646f6d
  let h1 = k3 ^ 0x646f7261
  let l2 = k0 ^ 0x6e657261
  let h2 = k1 ^ 0x6c796765
  let l3 = k2 ^ 0x79746573
  let h3 = k3 ^ 0x74656462
  const whole = length - (length & 7)
  // Words of the message, what is left of it with its length, and the end, which mixes nothing in but goes on for four rounds.
  for (let at = 0; at <= whole + 8; at += 8) {
    let low = 0
    let high = 0
    let rounds = 2
    if (at < whole) {
      low = word(bytes, at)
      high = word(bytes, at + 4)
    } else if (at === whole) {
      high = length << 24
      for (let rest = at; rest < length; rest++) {
        const byte = bytes[rest] ?? 0
        const place = rest - at
        if (place < 4) low |= byte << (8 * place)
        else high |= byte << (8 * (place - 4))
      }
    } else {
      l2 ^= 0xff
      rounds = 4
    }
    l3 ^= low
    h3 ^= high
    for (let round = 0; round < rounds; round++) {
      let sum = (l0 >>> 0) + (l1 >>> 0)
      l0 = sum | 0
      h0 = (h0 + h1 + (sum > 0xffffffff ? 1 : 0)) | 0
      let half = l1
      l1 = ((l1 << 13) | (h1 >>> 19)) ^ l0
      h1 = ((h1 << 13) | (half >>> 19)) ^ h0
      half = l0
      l0 = h0
      h0 = half
      sum = (l2 >>> 0) + (l3 >>> 0)
      l2 = sum | 0
      h2 = (h2 + h3 + (sum > 0xffffffff ? 1 : 0)) | 0
      half = l3
      l3 = ((l3 << 16) | (h3 >>> 16)) ^ l2
      h3 = ((h3 << 16) | (half >>> 16)) ^ h2
      sum = (l0 >>> 0) + (l3 >>> 0)
      l0 = sum | 0
      h0 = (h0 + h3 + (sum > 0xffffffff ? 1 : 0)) | 0
      half = l3
      l3 = ((l3 << 21) | (h3 >>> 11)) ^ l0
      h3 = ((h3 << 21) | (half >>> 11)) ^ h0
      sum = (l2 >>> 0) + (l1 >>> 0)
      l2 = sum | 0
      h2 = (h2 + h1 + (sum > 0xffffffff ? 1 : 0)) | 0
      half = l1
      l1 = ((l1 << 17) | (h1 >>> 15)) ^ l2
      h1 = ((h1 << 17) | (half >>> 15)) ^ h2
      half = l2
      l2 = h2
      h2 = half
    }
    l0 ^= low
    h0 ^= high
  }
  hashed[0] = l0 ^ l1 ^ l2 ^ l3
  hashed[1] = h0 ^ h1 ^ h2 ^ h3
  return hashed
}

const word = (bytes: Uint8Array, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)
