/** A record is framed once its bytes tell where it ends: the rest of the file is not waited for. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { frameRecord } from '../../src/extract/csv.ts'

const [COMMA, QUOTE] = [0x2c, 0x22]
const RFC = {
  delimiter: COMMA,
  quote: QUOTE,
  escapedBy: -1,
  lenient: false,
  comment: undefined,
  widths: undefined,
}
const frame = (text: string, ended: boolean) => frameRecord(Buffer.from(text), 0, ended, RFC)

describe('a record', () => {
  it.each([
    ['a quoted cell and more of the next line', '"a",b\nc', { end: 5, next: 6 }],
    ['a quoted cell at its end', 'a,"b"\nc', { end: 5, next: 6 }],
    ['a line end within quotes', '"a\nb"\nc', { end: 5, next: 6, lines: 2 }],
  ])('is there with %s', (_, text, expected) => {
    expect(frame(text, false)).toMatchObject(expected)
  })

  it.each([
    ['an open quote', '"a,b\n'],
    ['a quote that may be doubled', '"a"'],
    ['no line end', 'a,b'],
    ['a CR that an LF may follow', 'a,b\r'],
  ])('needs more bytes behind %s', (_, text) => {
    expect(frame(text, false)).toBeUndefined()
  })

  it.each([
    ['a closing quote', '"a"', { end: 3, next: 3 }],
    ['no line end', 'a,b', { end: 3, next: 3 }],
    ['a CR', 'a,b\r', { end: 3, next: 4 }],
  ])('ends with the file behind %s', (_, text, expected) => {
    expect(frame(text, true)).toMatchObject(expected)
  })

  it('is framed alike with the whole file behind it and with a byte', () => {
    const plain = fc.stringMatching(/^[a-z ]{0,4}$/)
    const quoted = fc.stringMatching(/^[a-z ,\n"]{0,4}$/).map((text) => `"${text.replaceAll('"', '""')}"`)
    const record = fc
      .array(fc.oneof(plain, quoted), { minLength: 1, maxLength: 4 })
      .map((cells) => cells.join(','))
    fc.assert(
      fc.property(fc.array(record, { minLength: 2, maxLength: 5 }), (records) => {
        const bytes = Buffer.from(`${records.join('\n')}\n`)
        for (let start = 0; start < bytes.length; ) {
          const whole = frameRecord(bytes, start, true, RFC)
          if (whole?.next === undefined) throw new Error('no record, though the file has ended')
          if (whole.next < bytes.length)
            expect(frameRecord(bytes.subarray(0, whole.next + 1), start, false, RFC)).toEqual(whole)
          start = whole.next
        }
      }),
    )
  })
})
