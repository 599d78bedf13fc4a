import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { html, htmlPage, shown } from '../../src/system/shown-text.ts'

const decoded = (text: string): string =>
  text.replaceAll(
    /&(amp|lt|gt|quot|#39);/g,
    (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"' })[name] ?? "'",
  )

describe('text as HTML', () => {
  test.each([
    ['<b>', '&lt;b&gt;'],
    ['"x" & \'y\'', '&quot;x&quot; &amp; &#39;y&#39;'],
    ['&lt;', '&amp;lt;'],
    ['a\u0000b\u001bc', 'a\\u0000b\\u001bc'],
    ['\u{202e}txt.exe', '\\u202etxt.exe'],
    ['\ud800', '\\ud800'],
    ['two\nlines\tand a tab', 'two\\nlines\\tand a tab'],
  ])('%j', (text, expected) => {
    expect(html(text)).toBe(expected)
  })

  test('has no mark-up, and is read as it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(html(text)).not.toMatch(/[<>"']/)
        fc.pre(shown(text) === text)
        expect(decoded(html(text))).toBe(text)
      }),
    )
  })
})

test('a page lets a browser load nothing', () => {
  const page = htmlPage({ title: '<t>', meta: { run: '"1"' }, style: 'p { color: red }', body: '<p>x</p>' })
  expect(page).toContain("content=\"default-src 'none'; style-src 'unsafe-inline'\"")
  expect(page).toContain('<title>&lt;t&gt;</title>')
  expect(page).toContain('<meta name="run" content="&quot;1&quot;">')
})
