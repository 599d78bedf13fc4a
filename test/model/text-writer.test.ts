import fc from 'fast-check'
import { expect, it } from 'vitest'
import { hexDigit, pieceOf, TextWriter } from '../../src/model/text-writer.ts'

/** Around the lengths at which another way of writing is taken: 16 for a piece, 24 for a text. */
const words = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.integer({ min: 0, max: 40 }).map((length) => 'a'.repeat(length)),
  fc.integer({ min: 0, max: 40 }).map((length) => `${'a'.repeat(length)}ü`),
)
const steps = fc.array(
  fc.oneof(
    words.map((text) => ({ text })),
    words.map((piece) => ({ piece })),
    fc.integer({ min: -(2 ** 31), max: 2 ** 32 - 1 }).map((digits) => ({ digits })),
  ),
  { maxLength: 12 },
)
const hex = (value: number): string => (value >>> 0).toString(16).padStart(8, '0')

it('writes texts, constant texts and numbers one behind the other', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const writer = new TextWriter(Buffer.alloc(10_000, 0xff))
      let expected = ''
      for (const step of all) {
        if ('text' in step) writer.text(step.text)
        else if ('piece' in step) writer.piece(pieceOf(step.piece))
        else writer.digits(step.digits)
        expected += 'text' in step ? step.text : 'piece' in step ? step.piece : `-${hex(step.digits)}`
      }
      expect(writer.written.toString()).toBe(Buffer.from(expected).toString())
      expect(writer.at).toBe(Buffer.byteLength(expected))
    }),
  )
})

it('repeats, copies and overwrites what is written, and nothing beside it', () => {
  const text = 'abcdefghijklmnopqrstuvwxyz'
  fc.assert(
    fc.property(fc.nat(25), fc.nat(25), fc.nat(25), (from, to, some) => {
      const length = Math.min(some, 26 - from, 26 - to)
      const writer = new TextWriter(Buffer.alloc(100, 0x2e))
      writer.text(text)
      writer.repeat(from, length)
      expect(writer.written.toString()).toBe(text + text.slice(from, from + length))
      writer.text('!')
      // Stretches that overlap are not copied by anybody.
      if (Math.abs(from - to) < length) return
      writer.copy(from, to, length)
      const copied = text.slice(0, to) + text.slice(from, from + length) + text.slice(to + length)
      expect(writer.written.toString()).toBe(`${copied}${text.slice(from, from + length)}!`)
    }),
  )
  const writer = new TextWriter(Buffer.alloc(100))
  writer.text(text)
  writer.put(2, 'XYZ')
  writer.putDigits(10, 0x0123abcd)
  expect(writer.written.toString()).toBe('abXYZfghij0123abcdstuvwxyz')
  expect(writer.at).toBe(26)
})

it('begins where its bytes begin', () => {
  const bytes = Buffer.alloc(40).subarray(8)
  const writer = new TextWriter(bytes)
  writer.text('0123456789')
  writer.copy(0, 10, 9)
  expect(bytes.subarray(0, 19).toString()).toBe('0123456789012345678')
})

it('has hex digits', () => {
  const digits = Array.from({ length: 16 }, (_, value) => String.fromCharCode(hexDigit(value))).join('')
  expect(digits).toBe('0123456789abcdef')
  expect(hex(0)).toHaveLength(8)
})

it.each(['', '1234567', '12345678', '123456789', 'ü'.repeat(8), '0123456789abcdefX'])(
  'keeps a constant text in words of eight bytes: %j',
  (text) => {
    const { bytes, words: found } = pieceOf(text)
    expect(Buffer.from(bytes).toString()).toBe(text)
    expect(Buffer.from(found.buffer).toString()).toBe(
      bytes.subarray(0, bytes.length - (bytes.length % 8)).toString(),
    )
  },
)

it('keeps a constant text in Latin-1 where it is asked to', () => {
  expect([...pieceOf('ü', 'latin1').bytes]).toEqual([0xfc])
})
