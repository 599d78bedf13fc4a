import { describe, expect, it } from 'vitest'
import { sipHash24 } from '../../src/model/ids.ts'

type SipKey = Parameters<typeof sipHash24>[0]

/** Of the paper and the reference implementation: the key is 00 01 … 0f, the message 00 01 …, of so many bytes. */
const KEY: SipKey = [0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c]
const VECTORS = [
  [0, '726fdb47dd0e0e31'],
  [1, '74f839c593dc67fd'],
  [7, 'ab0200f58b01d137'],
  [8, '93f5f5799a932462'],
  [15, 'a129ca6149be45e5'],
  [63, '958a324ceb064572'],
] as const

const hex = (word = 0): string => (word >>> 0).toString(16).padStart(8, '0')

describe('SipHash-2-4', () => {
  it.each(VECTORS)('of %i bytes is that of the reference implementation', (length, expected) => {
    const bytes = Uint8Array.from({ length: 100 }, (_, at) => (at < length ? at : 0xff))
    const [low, high] = sipHash24(KEY, bytes, length)
    expect(hex(high) + hex(low)).toBe(expected)
  })

  it('is another under another key, whichever word of it differs', () => {
    const hashes = [0, 1, 2, 3].map((word) => {
      const key = KEY.map((one, at) => (at === word ? one + 1 : one)) as unknown as SipKey
      return [...sipHash24(key, Buffer.from('a message'), 9)].join()
    })
    expect(new Set([...hashes, [...sipHash24(KEY, Buffer.from('a message'), 9)].join()]).size).toBe(5)
  })
})
