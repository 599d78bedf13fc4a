import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import {
  html,
  iso,
  linePrinter,
  present,
  shellPath,
  shellWord,
  shownPath,
  sizeText,
  toned,
  utcTime,
} from '../../src/system/shown-text.ts'

it.each([
  [0, '0 bytes'],
  [999, '999 bytes'],
  [1_000, '1.0 kB'],
  [1_049, '1.0 kB'],
  [1_050, '1.1 kB'],
  [999_000, '999.0 kB'],
  [1_000_000, '1.0 MB'],
  [4_200_000, '4.2 MB'],
  [1_000_000_000, '1.0 GB'],
  [1_000_000_000_000, '1.0 TB'],
  [1_000_000_000_000_000, '1000.0 TB'],
])('%d bytes are %s', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text)
})

it('writes instants in UTC', () => {
  const at = Date.UTC(2026, 10, 1, 5, 30, 7, 8)
  expect([iso(at), utcTime(at)]).toEqual(['2026-11-01T05:30:07.008Z', '2026-11-01 05:30'])
})

const WORDS = [
  ...[
    'plain',
    'a/b-c_d.csv',
    'x@y%+=:,',
    'two words',
    "it's",
    '$HOME',
    '`id`',
    '"',
    '\\',
    '!',
    '*',
    'a;b',
    '#',
    '~',
    '',
  ],
  ...['a\nb', "a\n'b'", 'a\n\\7', 'a\n!7', '\u001b[2J', '\u202e1', 'ü', 'ü\n', '\u{e0041}x'],
]
it.each(WORDS)('a word for a shell is the word: %j', (word) => {
  const written = shellWord(word)
  expect(execFileSync('bash', ['-c', `printf %s ${written}`]).toString()).toBe(word)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal obeys these.
  expect(written).not.toMatch(/[\u0000-\u001f\u202e]/)
})
it('leaves a plain word unquoted, and quotes each other one', () => {
  expect(WORDS.filter((word) => shellWord(word) === word)).toEqual(['plain', 'a/b-c_d.csv', 'x@y%+=:,'])
})

it('shows a path relative to where it is typed, unless it lies elsewhere', () => {
  expect(shownPath(join(process.cwd(), 'a/b'))).toBe('a/b')
  expect(shownPath('/elsewhere/a')).toBe('/elsewhere/a')
  expect(shellPath(join(process.cwd(), '-rf'))).toBe('./-rf')
  expect(shellPath(join(process.cwd(), 'a b'))).toBe("'a b'")
})

it('keeps parts that have a value', () => {
  const parts = { zero: 0, no: false, text: '', list: [0], none: [], null: null, undefined }
  expect(present(parts)).toEqual({ zero: 0, no: false, text: '', list: [0] })
})

it('gives one line a tone, and colours that one alone', () => {
  const lines = toned(['a', 'b\u001b', 'c'], 'bad')
  expect(lines).toEqual(['a', { text: 'b\u001b', tone: 'bad' }, 'c'])
  const written: string[] = []
  linePrinter(
    (text) => written.push(text),
    (text, tone) => `<${tone} ${text}>`,
  )(lines)
  expect(written).toEqual(['a\n<bad b\\u001b>\nc\n'])
})

it('writes a text as HTML', () => {
  expect(html(`<a href="x" title='y'>&amp;\n`)).toBe(
    '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;\\n',
  )
})
